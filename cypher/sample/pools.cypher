// Pools of each fact's distractors: the types of its object, or its relation if the object has no type.
// $rows: [{subject, fact}]
//   -> fact, types: [{id, size}], datatype: of a literal, else empty, relation: {id, size}, total: upper bound of the entities'
//      numbers
MATCH (counter:KgprobeCounter {id: 'entities'})
WITH counter.next AS total
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (relation:Relation {id: fact.relation})
OPTIONAL MATCH (object)-[:INSTANCE_OF]->(type:Type)
WITH total, fact, relation, coalesce(object.datatype, '') AS datatype,
     collect(CASE WHEN type IS NULL THEN NULL ELSE {id: type.id, size: type.size} END) AS types
RETURN fact.id AS fact, types, datatype, {id: relation.id, size: relation.size} AS relation, total
