// Entities by name, ignoring case. Scans the entities.
// $names: [name in lower case], none empty -> id, names: the label, then the aliases
// Language: entity
MATCH (entity:Entity)
WHERE toLower(entity.label) IN $names OR any(alias IN coalesce(entity.aliases, []) WHERE toLower(alias) IN $names)
RETURN entity.id AS id, [entity.label] + coalesce(entity.aliases, []) AS names
ORDER BY id
