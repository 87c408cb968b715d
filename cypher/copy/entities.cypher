// All entities. Scans them; streamed. They are copied before other nodes, so that the copy lists them first.
// no parameters -> labels, properties
MATCH (n:Entity)
RETURN labels(n) AS labels, properties(n) AS properties
