// Bring a run into view, unless facts still hold the beliefs of another. The counter is written to lock it: changes of the view wait
// for each other.
// $run, $graph: state of the graph -> run
MATCH (counter:Counter {id: 'entities'})
SET counter.views = coalesce(counter.views, 0) + 1
WITH counter
OPTIONAL MATCH (run:Run)
WHERE run.inView IS NOT NULL AND run.id <> $run
WITH count(run) AS others
MATCH (begun:Run {id: $run})
WHERE others = 0
SET begun.inView = true, begun.viewed = coalesce(begun.viewed, 0), begun.viewed_graph = $graph
RETURN begun.id AS run
