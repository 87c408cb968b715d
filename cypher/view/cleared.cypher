// Record that no fact holds a belief.
// no parameters -> no rows
MATCH (run:Run)
WHERE NOT run.inView
REMOVE run.inView, run.viewed, run.viewed_round, run.viewed_graph
