// Entities whose label begins like a name or contains it, those with most facts first. Scans the entities.
// $name, $beginning: in lower case, $limit -> id, label
// Language: entity
MATCH (entity:Entity)
WHERE toLower(entity.label) STARTS WITH $beginning OR toLower(entity.label) CONTAINS $name
RETURN entity.id AS id, entity.label AS label
ORDER BY coalesce(entity.degree, 0) DESC, id
LIMIT $limit
