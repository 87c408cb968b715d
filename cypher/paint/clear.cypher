// Delete some of what was painted; called until nothing is left, so that no transaction grows with the graph.
// $size -> deleted
MATCH (:Entity)-[painted:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]->(:Entity)
WITH painted LIMIT $size
DELETE painted
RETURN count(*) AS deleted
