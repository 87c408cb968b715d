// Every sweep has one id, and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT sweep_id IF NOT EXISTS FOR (sweep:Sweep) REQUIRE sweep.id IS UNIQUE
