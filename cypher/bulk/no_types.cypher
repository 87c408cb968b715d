// Give entities an empty list of types where an import could not say that there are none.
// $first, $behind: numbers -> no rows
MATCH (entity:Entity)
WHERE $first <= entity.number < $behind AND entity.types IS NULL
SET entity.types = []
