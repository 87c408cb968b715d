// Ids of the instances of a type; streamed. Walks them.
// $type: id -> id
MATCH (type:Entity {id: $type})
USING INDEX SEEK type:Entity(id)
MATCH (type)<-[:INSTANCE_OF]-(instance:Entity)
RETURN DISTINCT instance.id AS id
ORDER BY id
