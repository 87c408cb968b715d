// Entities by their names, whatever their capitals. Scans the entities.
// $names: [name in small letters] -> id, names: the label, then the aliases
MATCH (entity:Entity)
WHERE toLower(entity.label) IN $names OR any(alias IN coalesce(entity.aliases, []) WHERE toLower(alias) IN $names)
RETURN entity.id AS id, [entity.label] + coalesce(entity.aliases, []) AS names
ORDER BY id
