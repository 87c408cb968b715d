// Every entity has one id, and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (entity:Entity) REQUIRE entity.id IS UNIQUE
