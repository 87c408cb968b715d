// How many relationships there are of each type, by the labels of their ends: reads all of them, once a load.
// no parameters  ->  type, from_labels, to_labels, relationships
MATCH (s)-[r]->(o)
RETURN type(r) AS type, labels(s) AS from_labels, labels(o) AS to_labels, count(*) AS relationships
