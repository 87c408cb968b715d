// Bring a run into view, unless facts still hold the beliefs of another.
// $run -> run
MATCH (run:Run)
WHERE run.inView IS NOT NULL AND run.id <> $run
WITH count(run) AS others
MATCH (begun:Run {id: $run})
WHERE others = 0
SET begun.inView = true, begun.viewed = coalesce(begun.viewed, 0)
RETURN begun.id AS run
