// Ids of the entities with a label; streamed.
// $label -> id
MATCH (entity:$($label))
RETURN entity.id AS id
ORDER BY id
