// Delete some of a run's beliefs in the form of older versions, relationships; called until none are left.
// $run, $size -> deleted
MATCH (:Entity)-[belief:BELIEF]->(:Entity)
WHERE belief.run = $run
WITH belief LIMIT $size
DELETE belief
RETURN count(*) AS deleted
