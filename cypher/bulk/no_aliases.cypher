// Give entities an empty list of aliases where an import could not say that there are none.
// $first, $behind: numbers -> no rows
MATCH (entity:Entity)
WHERE $first <= entity.number < $behind AND entity.aliases IS NULL
SET entity.aliases = []
