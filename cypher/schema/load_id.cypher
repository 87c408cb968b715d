// Unique id of a load, with an index.
// no parameters -> no rows
CREATE CONSTRAINT load_id IF NOT EXISTS FOR (load:KgprobeLoad) REQUIRE load.id IS UNIQUE
