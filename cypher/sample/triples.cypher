// Facts by what they say. Walks the facts of each subject.
// $rows: [{index, subject, relation, object}] -> index, subject, fact
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(object:Entity {id: row.object})
WHERE fact.relation = row.relation
RETURN row.index AS index, subject.id AS subject, fact.id AS fact
ORDER BY index, fact
