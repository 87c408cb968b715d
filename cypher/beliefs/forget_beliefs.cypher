// Delete some of a run's beliefs; called until none are left, to limit the size of transactions.
// $run, $size -> deleted
MATCH (belief:Belief {run: $run})
WITH belief LIMIT $size
DETACH DELETE belief
RETURN count(*) AS deleted
