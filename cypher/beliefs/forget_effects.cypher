// Delete some of a run's effects; called until none are left, so that no transaction grows with the run.
// $run, $size -> deleted
MATCH (effect:Effect)
WHERE effect.run = $run
WITH effect LIMIT $size
DELETE effect
RETURN count(*) AS deleted
