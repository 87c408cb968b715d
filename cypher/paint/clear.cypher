// Delete some painted relationships; called until none are left, to limit the size of transactions.
// $run: id of a run, null for all, $size -> deleted
MATCH (:Entity)-[painted:KNOWN|LEANS_KNOWN|LEANS_UNKNOWN|UNKNOWN|EXPECTED|LEARNED|FORGOT]->(:Entity)
WHERE $run IS NULL OR painted.run = $run
WITH painted LIMIT $size
DELETE painted
RETURN count(*) AS deleted
