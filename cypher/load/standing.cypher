// Which of these facts stand in the graph with another object. Walks the facts of each subject.
// $rows: [{index, id, subject, object}] -> index, object, relation, load, line: of the fact that stands
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.id}]->(object:Entity)
WHERE object.id <> row.object
RETURN row.index AS index, object.id AS object, fact.relation AS relation, fact.load AS load, fact.line AS line
