// What all entities with a label are called, to tell what the graph knows from what it does not. Scans the entities; read
// once a probe, as a stream.
// no parameters -> names: the label, then the aliases
MATCH (entity:Entity)
WHERE entity.label <> ''
RETURN [entity.label] + coalesce(entity.aliases, []) AS names
