// Entities of asked facts with a degree too large for propagation.
// $max_degree, $rows: [{subject, fact}] -> id, label, degree
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[asked:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
UNWIND [subject, object] AS hub
WITH DISTINCT hub
WHERE hub.degree > $max_degree
RETURN hub.id AS id, hub.label AS label, hub.degree AS degree
ORDER BY degree DESC, id
