// Remove beliefs about facts as they were before their object or relation changed: those were about another statement.
// $rows: [{id, subject, object: the former one}] -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[belief:BELIEF {fact: row.id}]->(object:Entity {id: row.object})
DELETE belief
