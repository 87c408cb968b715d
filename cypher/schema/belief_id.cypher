// Unique id of a belief, 'RUN/FACT', with an index.
// no parameters -> no rows
CREATE CONSTRAINT belief_id IF NOT EXISTS FOR (belief:Belief) REQUIRE belief.id IS UNIQUE
