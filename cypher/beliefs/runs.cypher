// All runs, the latest last.
// no parameters -> run: all properties
MATCH (run:Run)
RETURN properties(run) AS run
ORDER BY run.started, run.id
