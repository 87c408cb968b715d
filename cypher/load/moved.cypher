// Remove what facts pointed to before their object changed: a fact's id stays, its edge is made anew.
// $rows: [{id, subject, object: the former one}] -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.id}]->(object:Entity {id: row.object})
DELETE fact
