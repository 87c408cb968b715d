// Replacements of an entity in a fact among the entities with these numbers: they have a label and are neither the entity nor the
// one at the other end. Only literals replace literals. Shared names are not tested here, as Cypher has no case folding.
// Unless $any_type, they must be similar: they share a type; without types, a literal has the same datatype, and an object of a
// relation is also one of its objects.
// $any_type: true or false, $rows: [{fact, replaced, other: ids of the entity and of the one at the other end, relation: id for an
//   object, null for a subject, numbers}]
//   -> fact, number, id, label, aliases
UNWIND $rows AS row
MATCH (replaced:Entity {id: row.replaced})
USING INDEX SEEK replaced:Entity(id)
WITH row, coalesce(replaced.types, []) AS types, coalesce(replaced.datatype, '') AS kind
UNWIND row.numbers AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
WHERE entity.label <> '' AND entity.id <> row.replaced AND entity.id <> row.other
  AND (entity.datatype IS NULL) = (kind = '')
  AND ($any_type OR any(type IN coalesce(entity.types, []) WHERE type IN types)
       OR (size(types) = 0 AND coalesce(entity.datatype, '') = kind))
OPTIONAL MATCH (entity)-[:OBJECT_OF]->(relation:Relation {id: row.relation})
WITH row, number, types, entity, relation
WHERE $any_type OR size(types) > 0 OR row.relation IS NULL OR relation IS NOT NULL
RETURN row.fact AS fact, number, entity.id AS id, entity.label AS label, coalesce(entity.aliases, []) AS aliases
