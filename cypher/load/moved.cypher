// Delete the edges of facts whose object changed; they are created again with the same id. Walks the facts of each subject once.
// $rows: [{subject, facts: {id: true}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->()
USING INDEX SEEK subject:Entity(id)
WHERE row.facts[fact.id] IS NOT NULL
WITH collect(fact) AS moved
UNWIND moved AS fact
DELETE fact
