// The types with most instances, the largest first. Scans the types.
// $limit -> id, label, size: number of instances
MATCH (type:Type)
WHERE type.size > 0 AND type.label <> ''
RETURN type.id AS id, type.label AS label, type.size AS size
ORDER BY size DESC, id
LIMIT toInteger($limit)
