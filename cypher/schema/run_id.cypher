// Every run has one id, and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT run_id IF NOT EXISTS FOR (run:Run) REQUIRE run.id IS UNIQUE
