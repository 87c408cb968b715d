// All relationships, with the labels and ids of their ends. Scans the graph; streamed.
// no parameters -> type, from_labels, from, to_labels, to, properties
MATCH (s)-[r]->(o)
RETURN type(r) AS type, labels(s) AS from_labels, s.id AS from, labels(o) AS to_labels, o.id AS to, properties(r) AS properties
