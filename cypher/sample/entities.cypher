// Entities with these numbers: of those with types, the ones that share one, of those with a relation, the ones that are its objects.
// Names and kinds of wrong entities, which are compared outside, as Cypher has no case folding.
// $rows: [{types: [id], of: id of a relation or null, numbers: [number]}]
//   -> of, number, id, label: empty without one, aliases, datatype: of a literal, else empty, types: [id]
// Language: entity
UNWIND $rows AS row
UNWIND row.numbers AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
WHERE size(row.types) = 0 OR any(type IN coalesce(entity.types, []) WHERE type IN row.types)
OPTIONAL MATCH (entity)-[:OBJECT_OF]->(of:Relation {id: row.of})
WITH row, number, entity, of
WHERE row.of IS NULL OR of IS NOT NULL
RETURN row.of AS of, number, entity.id AS id, coalesce(entity.label, '') AS label, coalesce(entity.aliases, []) AS aliases,
       coalesce(entity.datatype, '') AS datatype, coalesce(entity.types, []) AS types
