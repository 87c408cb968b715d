// Store the results of a sweep: of the whole graph at its node, of each relation at an edge to it.
// $id, $properties, $rows: [{relation, properties}] -> no rows
MERGE (sweep:Sweep {id: $id})
SET sweep += $properties
WITH sweep
UNWIND $rows AS row
MATCH (relation:Relation {id: row.relation})
MERGE (sweep)-[judged:JUDGED]->(relation)
SET judged += row.properties
