// Entities whose label begins as a name does, or has it as a part; those with the most facts first. Scans the entities.
// $name, $beginning: in small letters, $limit -> id, label
MATCH (entity:Entity)
WHERE toLower(entity.label) STARTS WITH $beginning OR toLower(entity.label) CONTAINS $name
RETURN entity.id AS id, entity.label AS label
ORDER BY coalesce(entity.degree, 0) DESC, id
LIMIT $limit
