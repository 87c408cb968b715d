// Delete some of what was painted; called until nothing is left, so that no transaction grows with the graph.
// $run: of this run, null for whatever was painted, $size -> deleted
MATCH (:Entity)-[painted:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]->(:Entity)
WHERE $run IS NULL OR painted.run = $run
WITH painted LIMIT $size
DELETE painted
RETURN count(*) AS deleted
