// Names of the entities with these numbers that have a label.
// $numbers: [number] -> number, names: the label, then the aliases
// Language: entity
UNWIND $numbers AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
WHERE entity.label <> ''
RETURN number, [entity.label] + coalesce(entity.aliases, []) AS names
