// The whole graph in a form that two graphs can be compared in.
MATCH (node)
OPTIONAL MATCH (node)-[edge]->(other)
RETURN labels(node) AS labels, node.id AS id, properties(node) AS properties, type(edge) AS edge,
       properties(edge) AS edge_properties, other.id AS other
