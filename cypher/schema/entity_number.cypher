// Index of the entities by number, with few gaps, so that a random number finds a random entity.
// no parameters -> no rows
CREATE INDEX entity_number IF NOT EXISTS FOR (entity:Entity) ON (entity.number)
