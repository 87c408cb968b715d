// Store the figures of a judged graph: of the whole graph at its node, of each relation at an edge to it.
// $id, $properties, $rows: [{relation, properties}] -> no rows
MERGE (judged_graph:KgprobeJudgedGraph {id: $id})
SET judged_graph += $properties
WITH judged_graph
UNWIND $rows AS row
MATCH (relation:Relation {id: row.relation})
MERGE (judged_graph)-[judged:JUDGED]->(relation)
SET judged += row.properties
