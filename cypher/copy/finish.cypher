// Mark a copy as finished.
// no parameters -> no rows
MATCH (copy:Copy)
DELETE copy
