// Remove what facts pointed to before their object changed: a fact's id stays, its edge is made anew.
// $rows: [{id, subject, object}] -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[former:FACT {id: row.id}]->(object)
WITH subject, former, object WHERE object.id <> row.object
DELETE former
SET object.degree = object.degree - 1, subject.degree = subject.degree - 1
