// Entities with some numbers, without literals, ordered by number.
// $first, $last: numbers -> id, label, aliases, description, types, popularity, texts: [{name, text}], properties with names in a
// language
UNWIND range($first, $last) AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
WHERE NOT entity:Literal
RETURN entity.id AS id, coalesce(entity.label, '') AS label, coalesce(entity.aliases, []) AS aliases,
       coalesce(entity.description, '') AS description, coalesce(entity.types, []) AS types,
       entity.popularity AS popularity,
       [name IN keys(entity) WHERE name STARTS WITH 'label_' OR name STARTS WITH 'aliases_'
          OR name STARTS WITH 'description_' | {name: name, text: entity[name]}] AS texts
ORDER BY number
