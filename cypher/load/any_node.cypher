// Check for any node in the graph.
// no parameters -> nodes: 0 or 1
OPTIONAL MATCH (node)
WITH node LIMIT 1
RETURN count(node) AS nodes
