// Labels of types that instances have, or are getting, the largest type first. Scans the types.
// no parameters -> type, name, label, size
MATCH (type:Type)
WHERE type.node_label IS NOT NULL
RETURN type.id AS type, type.label AS name, type.node_label AS label, type.size AS size
ORDER BY size DESC, type
