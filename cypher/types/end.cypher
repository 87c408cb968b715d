// Forget the label of a type's instances, after they have lost it.
// $type: id -> no rows
MATCH (type:Entity {id: $type})
USING INDEX SEEK type:Entity(id)
REMOVE type.node_label
