// Remove a label from entities.
// $ids, $label -> no rows
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
REMOVE entity:$($label)
