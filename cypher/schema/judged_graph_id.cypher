// Unique id of a judged graph, with an index.
// no parameters -> no rows
CREATE CONSTRAINT judged_graph_id IF NOT EXISTS FOR (judged_graph:KgprobeJudgedGraph) REQUIRE judged_graph.id IS UNIQUE
