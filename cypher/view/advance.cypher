// Record how many facts hold the beliefs of the run in view; returns no row if the run is no longer in view. The run is written before
// it is read, to lock it.
// $run, $viewed: number of facts in the order of writing, $round: the round after which they were computed,
//   $graph: state of the graph -> viewed
MATCH (run:Run {id: $run})
SET run.viewed = $viewed
WITH run
WHERE run.inView
SET run.viewed = $viewed, run.viewed_round = $round, run.viewed_graph = $graph
RETURN run.viewed AS viewed
