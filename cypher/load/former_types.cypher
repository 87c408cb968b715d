// Unlink entities from their former types. Walks the links of each entity once.
// $rows: [{id, types: {id: true}}], each entity once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})-[link:INSTANCE_OF]->(type)
USING INDEX SEEK entity:Entity(id)
WHERE row.types[type.id] IS NOT NULL
WITH link, type
DELETE link
WITH type, count(*) AS removed
SET type.size = type.size - removed
