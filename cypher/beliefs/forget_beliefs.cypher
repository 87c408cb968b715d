// Delete some of a run's beliefs; called until none are left, so that no transaction grows with the run.
// $run, $size -> deleted
MATCH (belief:Belief {run: $run})
WITH belief LIMIT $size
DELETE belief
RETURN count(*) AS deleted
