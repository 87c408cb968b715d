// Properties of some relationships of a type, to propose a mapping. Reads relationships up to the limit.
// $type, $limit -> properties
MATCH ()-[r]->()
WHERE type(r) = $type
RETURN properties(r) AS properties
LIMIT $limit
