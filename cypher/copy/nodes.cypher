// All nodes, without the node of a copy in progress. Scans the graph; streamed.
// no parameters -> labels, properties
MATCH (n)
WHERE NOT n:Copy
RETURN labels(n) AS labels, properties(n) AS properties
