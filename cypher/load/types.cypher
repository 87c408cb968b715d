// Mark entities as types.
// $ids: [id] of existing entities -> no rows
UNWIND $ids AS id
MATCH (type:Entity {id: id})
USING INDEX SEEK type:Entity(id)
WITH type WHERE NOT type:Type
SET type.size = 0
SET type:Type
