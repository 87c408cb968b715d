// Entities of a range of numbers, for the columns on disk; see sample/fact_columns.
// $first, $behind: numbers
//   -> entities: [[number, id, label, aliases, types: [id], popularity, degree, datatype: of a literal, else empty]]
// Language: entity
MATCH (entity:Entity)
WHERE $first <= entity.number < $behind
RETURN collect([entity.number, entity.id, coalesce(entity.label, ''), coalesce(entity.aliases, []), coalesce(entity.types, []),
                entity.popularity, coalesce(entity.degree, 0), coalesce(entity.datatype, '')]) AS entities
