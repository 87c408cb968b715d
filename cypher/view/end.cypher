// Take the run in view out of view, before its beliefs are removed from the facts: its rounds no longer write them. The counter is
// written to lock it: changes of the view wait for each other.
// no parameters -> no rows
MATCH (counter:KgprobeCounter {id: 'entities'})
SET counter.views = coalesce(counter.views, 0) + 1
WITH counter
MATCH (run:Run)
WHERE run.inView
SET run.inView = false
