// Set an empty list of aliases on entities, which an import cannot create.
// $first, $behind: numbers -> no rows
MATCH (entity:Entity)
WHERE $first <= entity.number < $behind AND entity.aliases IS NULL
SET entity.aliases = []
