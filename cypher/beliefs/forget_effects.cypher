// Delete some of a run's effects; called until none are left, to limit the size of transactions.
// $run, $size -> deleted
MATCH (effect:KgprobeEffect)
WHERE effect.run = $run
WITH effect LIMIT $size
DELETE effect
RETURN count(*) AS deleted
