// Names of all entities with a label, to distinguish known from unknown names. Scans the entities; read once for each probe,
// streamed.
// no parameters -> names: the label, then the aliases
// Language: entity
MATCH (entity:Entity)
WHERE entity.label <> ''
RETURN [entity.label] + coalesce(entity.aliases, []) AS names
