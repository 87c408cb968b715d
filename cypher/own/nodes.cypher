// How many nodes there are of each set of labels: reads all nodes, once a load.
// no parameters  ->  labels, nodes
MATCH (n)
RETURN labels(n) AS labels, count(*) AS nodes
