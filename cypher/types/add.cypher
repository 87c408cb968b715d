// Add a label to entities.
// $ids, $label -> no rows
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
SET entity:$($label)
