// Facts by subject, relation and object. Walks the facts of each subject.
// $rows: [{index, subject, relation, object}] -> index, subject, fact, start, end, from, until, ended: true for an unknown end, else null
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(object:Entity {id: row.object})
USING INDEX SEEK subject:Entity(id)
WHERE fact.relation = row.relation
RETURN row.index AS index, subject.id AS subject, fact.id AS fact, fact.start AS start, fact.end AS end,
       fact.from AS from, fact.until AS until, fact.ended AS ended
ORDER BY index, fact
