// The properties of some nodes of a label, to propose a mapping from: reads nodes until it has them.
// $label, $limit  ->  properties
MATCH (n)
WHERE $label IN labels(n)
RETURN properties(n) AS properties
LIMIT $limit
