// Unique id of an entity, with an index.
// no parameters -> no rows
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (entity:Entity) REQUIRE entity.id IS UNIQUE
