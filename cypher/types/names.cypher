// Labels of types that instances have, or are getting, that of the largest type first. Scans the types.
// no parameters -> type: id, label
MATCH (type:Type)
WHERE type.node_label IS NOT NULL
WITH type
ORDER BY type.size DESC, type.id
RETURN type.id AS type, type.node_label AS label
