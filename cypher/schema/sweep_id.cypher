// Unique id of a sweep, with an index.
// no parameters -> no rows
CREATE CONSTRAINT sweep_id IF NOT EXISTS FOR (sweep:Sweep) REQUIRE sweep.id IS UNIQUE
