// Store the label of a type's instances, before they get it.
// $type, $label -> no rows
MATCH (type:Entity {id: $type})
USING INDEX SEEK type:Entity(id)
SET type.node_label = $label
