// Delete the figures of a judged graph.
// $id -> no rows
MATCH (judged_graph:JudgedGraph {id: $id})
DETACH DELETE judged_graph
