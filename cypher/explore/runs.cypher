// The runs: which model was asked how, the rounds done and the answers got so far, and when each was begun; the latest first.
// -> run, model, probe, rounds, asked, begun
MATCH (run:Run)
RETURN run.id AS run, run.model AS model, run.probe AS probe, run.round AS rounds, run.asked AS asked, run.started AS begun
ORDER BY begun DESC, run DESC
