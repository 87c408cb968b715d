// Unique id of a run, with an index.
// no parameters -> no rows
CREATE CONSTRAINT run_id IF NOT EXISTS FOR (run:Run) REQUIRE run.id IS UNIQUE
