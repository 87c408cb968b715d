// A copy is done.
// no parameters -> no rows
MATCH (copy:Copy)
DELETE copy
