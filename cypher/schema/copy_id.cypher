// Unique node of the copy in progress.
// no parameters -> no rows
CREATE CONSTRAINT copy_id IF NOT EXISTS FOR (copy:Copy) REQUIRE copy.id IS UNIQUE
