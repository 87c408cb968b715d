// Number of relationships by type and labels of their ends. Reads all of them, once for each load.
// no parameters -> type, from_labels, to_labels, relationships
MATCH (s)-[r]->(o)
RETURN type(r) AS type, labels(s) AS from_labels, labels(o) AS to_labels, count(*) AS relationships
