// Properties of some nodes of a label, to propose a mapping. Reads nodes up to the limit.
// $label, $limit -> properties
MATCH (n)
WHERE $label IN labels(n)
RETURN properties(n) AS properties
LIMIT $limit
