// Set an empty list of types on entities, which an import cannot create.
// $first, $behind: numbers -> no rows
MATCH (entity:Entity)
WHERE $first <= entity.number < $behind AND entity.types IS NULL
SET entity.types = []
