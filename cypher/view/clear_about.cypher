// Disconnect some beliefs from their subjects, unless a run is in view; called until none are left, to limit the size of transactions.
// The counter is written to lock it: changes of the view wait for each other.
// $size -> cleared: number of beliefs
MATCH (counter:KgprobeCounter {id: 'entities'})
SET counter.views = coalesce(counter.views, 0) + 1
WITH counter
WHERE NOT EXISTS { MATCH (run:Run) WHERE run.inView }
MATCH (:Belief)-[about:ABOUT]->(:Entity)
WITH about LIMIT $size
DELETE about
RETURN count(*) AS cleared
