// Whether a graph holds anything at all.
// no parameters -> labels: of one of its nodes; no row where there is none
MATCH (n)
RETURN labels(n) AS labels
LIMIT 1
