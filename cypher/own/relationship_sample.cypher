// The properties of some relationships of a type, to propose a mapping from: reads relationships until it has them.
// $type, $limit  ->  properties
MATCH ()-[r]->()
WHERE type(r) = $type
RETURN properties(r) AS properties
LIMIT $limit
