// Names of entities that have a label.
// $ids: [id] -> id, names: the label, then the aliases
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
WHERE entity.label <> ''
RETURN id, [entity.label] + coalesce(entity.aliases, []) AS names
ORDER BY id
