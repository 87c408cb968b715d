// All nodes, without those of a copy at work. Scans the graph; streamed.
// no parameters -> labels, properties
MATCH (n)
WHERE NOT n:Copy
RETURN labels(n) AS labels, properties(n) AS properties
