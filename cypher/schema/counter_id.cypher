// Unique node of the counter that numbers the entities.
// no parameters -> no rows
CREATE CONSTRAINT counter_id IF NOT EXISTS FOR (counter:KgprobeCounter) REQUIRE counter.id IS UNIQUE
