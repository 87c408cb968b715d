// Every belief of a run has one id, 'RUN/FACT', and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT belief_id IF NOT EXISTS FOR (belief:Belief) REQUIRE belief.id IS UNIQUE
