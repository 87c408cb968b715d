// Labels of the entities with these numbers, or ids without a label.
// $numbers: [number] -> number, label
// Language: entity
UNWIND $numbers AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
RETURN number, CASE WHEN coalesce(entity.label, '') = '' THEN entity.id ELSE entity.label END AS label
