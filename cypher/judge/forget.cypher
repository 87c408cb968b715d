// Delete the figures of a judged graph.
// $id -> no rows
MATCH (judged_graph:KgprobeJudgedGraph {id: $id})
DETACH DELETE judged_graph
