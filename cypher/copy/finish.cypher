// Mark a copy as finished.
// no parameters -> no rows
MATCH (copy:KgprobeCopy)
DELETE copy
