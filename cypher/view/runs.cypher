// The run in view, and runs whose beliefs are being removed from the facts.
// no parameters -> run, in_view: true or false, viewed: number of facts written so far, viewed_round: after which round,
//   viewed_graph: in which state of the graph
MATCH (run:Run)
WHERE run.inView IS NOT NULL
RETURN run.id AS run, run.inView AS in_view, run.viewed AS viewed, run.viewed_round AS viewed_round,
       run.viewed_graph AS viewed_graph
ORDER BY run
