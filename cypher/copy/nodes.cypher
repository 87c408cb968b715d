// All nodes that are no entities, without the node of a copy in progress. Scans the graph; streamed.
// no parameters -> labels, properties
MATCH (n)
WHERE NOT n:Entity AND NOT n:KgprobeCopy
RETURN labels(n) AS labels, properties(n) AS properties
