// The types with most instances, the largest first. Scans the types.
// $limit -> type, name, size
MATCH (type:Type)
WHERE type.size > 0 AND type.label <> ''
RETURN type.id AS type, type.label AS name, type.size AS size
ORDER BY size DESC, type
LIMIT toInteger($limit)
