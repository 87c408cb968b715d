// Loads of the graph.
// no parameters -> id, source, finished
MATCH (load:KgprobeLoad)
RETURN load.id AS id, load.source AS source, load.finished AS finished
ORDER BY id
