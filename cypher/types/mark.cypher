// Store the label of a type's instances, before the first one gets it; null after the last one has lost it.
// $type, $label -> no rows
MATCH (type:Entity {id: $type})
USING INDEX SEEK type:Entity(id)
SET type.node_label = $label
