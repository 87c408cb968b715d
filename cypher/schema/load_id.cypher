// Every load has one id, and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT load_id IF NOT EXISTS FOR (load:Load) REQUIRE load.id IS UNIQUE
