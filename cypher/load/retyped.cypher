// Unlink entities from types that they no longer have.
// $ids: [id] -> no rows
UNWIND $ids AS id
MATCH (entity:Entity {id: id})-[link:INSTANCE_OF]->(type)
WITH entity, link, type WHERE NOT type.id IN entity.types
DELETE link
WITH type, count(*) AS removed
SET type.size = type.size - removed
