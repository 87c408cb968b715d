// Entities with these numbers that are of a kind: they share one of the types if there are some, are objects of the relation $rows.of
// if there is one, and have the datatype if there is one (empty for entities that are not literals). For wrong entities at an end of a
// fact. Names are not compared here, as Cypher has no case folding.
// $rows: [{index, types: [id], of: id of a relation or null, datatype: or null, subject, relation: whose objects are marked, or empty,
//   numbers}]
//   -> index, number, id, label: empty without one, aliases, datatype: of a literal, else empty, shared: [id of a type], until: last
//      end of a fact with this subject and relation, 99991231 for one without a known end, null if there is no such fact
// Language: entity
UNWIND $rows AS row
OPTIONAL MATCH (subject:Entity {id: row.subject})
UNWIND row.numbers AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
WHERE (row.datatype IS NULL OR coalesce(entity.datatype, '') = row.datatype)
  AND (size(row.types) = 0 OR any(type IN coalesce(entity.types, []) WHERE type IN row.types))
OPTIONAL MATCH (entity)-[:OBJECT_OF]->(of:Relation {id: row.of})
WITH row, number, subject, entity, of
WHERE row.of IS NULL OR of IS NOT NULL
OPTIONAL MATCH (subject)-[truth:FACT]->(entity)
WHERE truth.relation = row.relation
WITH row, number, entity, max(CASE WHEN truth IS NULL THEN NULL ELSE coalesce(truth.until, 99991231) END) AS until
RETURN row.index AS index, number, entity.id AS id, coalesce(entity.label, '') AS label, coalesce(entity.aliases, []) AS aliases,
       coalesce(entity.datatype, '') AS datatype, [type IN row.types WHERE type IN coalesce(entity.types, [])] AS shared, until
