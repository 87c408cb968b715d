// Remove beliefs about facts as they were before their object or relation changed: those were about another statement.
// Walks the beliefs about the facts of each subject, once.
// $rows: [{subject, facts: {id: true}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[belief:BELIEF]->()
USING INDEX SEEK subject:Entity(id)
WHERE row.facts[belief.fact] IS NOT NULL
WITH collect(belief) AS stale
UNWIND stale AS belief
DELETE belief
