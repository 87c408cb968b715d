// Delete the twins of facts. Walks the relationships of each subject once.
// $types, $rows: [{subject, facts: {id: any value}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[twin]->(:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE type(twin) IN $types AND row.facts[twin.fact] IS NOT NULL
WITH collect(twin) AS twins
UNWIND twins AS twin
DELETE twin
