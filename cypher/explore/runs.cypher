// Runs with model, probe, number of rounds and of answers, and start time, the latest first.
// -> run, model, probe, rounds, asked, begun
MATCH (run:Run)
RETURN run.id AS run, run.model AS model, run.probe AS probe, run.round AS rounds, run.asked AS asked, run.started AS begun
ORDER BY begun DESC, run DESC
