// Number of nodes by labels. Reads all nodes, once for each load.
// no parameters -> labels, nodes
MATCH (n)
RETURN labels(n) AS labels, count(*) AS nodes
