// Take the run in view out of view, before its beliefs are removed from the facts: its rounds no longer write them.
// no parameters -> no rows
MATCH (run:Run)
WHERE run.inView
SET run.inView = false
