// Remove what facts pointed to before their object changed: a fact's id stays, its edge is made anew. Walks the facts of
// each subject, once.
// $rows: [{subject, facts: {id: true}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->()
USING INDEX SEEK subject:Entity(id)
WHERE row.facts[fact.id] IS NOT NULL
WITH collect(fact) AS moved
UNWIND moved AS fact
DELETE fact
