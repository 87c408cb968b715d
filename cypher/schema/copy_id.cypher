// Unique node of the copy in progress.
// no parameters -> no rows
CREATE CONSTRAINT copy_id IF NOT EXISTS FOR (copy:KgprobeCopy) REQUIRE copy.id IS UNIQUE
