// The counter from which entities get their numbers is one node.
// no parameters -> no rows
CREATE CONSTRAINT counter_id IF NOT EXISTS FOR (counter:Counter) REQUIRE counter.id IS UNIQUE
