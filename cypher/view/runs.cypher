// The run in view, and runs whose beliefs are being removed from the facts.
// no parameters -> run, in_view: true or false, viewed: number of facts written so far, viewed_round: after which round
MATCH (run:Run)
WHERE run.inView IS NOT NULL
RETURN run.id AS run, run.inView AS in_view, run.viewed AS viewed, run.viewed_round AS viewed_round
ORDER BY run
