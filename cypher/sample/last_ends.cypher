// Objects of subjects and relations in facts of any time, by number. Walks the facts of each subject.
// $rows: [{subject, relation}] -> subject, relation, number, until: last end of a fact, 99991231 for one without a known end
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[truth:FACT]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE truth.relation = row.relation AND object.number IS NOT NULL
RETURN row.subject AS subject, row.relation AS relation, object.number AS number, max(coalesce(truth.until, 99991231)) AS until
