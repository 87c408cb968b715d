// Record that no fact holds a belief. The counter is written to lock it: changes of the view wait for each other.
// no parameters -> no rows
MATCH (counter:KgprobeCounter {id: 'entities'})
SET counter.views = coalesce(counter.views, 0) + 1
WITH counter
MATCH (run:Run)
WHERE NOT run.inView
REMOVE run.inView, run.viewed, run.viewed_round, run.viewed_graph
