// Unlink entities from relations of which they are no longer an object. Walks the facts of each entity until it finds one.
// $rows: [{id, relations: [id]}], each entity once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})-[link:OBJECT_OF]->(relation:Relation)
USING INDEX SEEK entity:Entity(id)
WHERE relation.id IN row.relations
  AND NOT EXISTS { MATCH (entity)<-[fact:FACT]-() WHERE fact.relation = relation.id }
WITH link, relation
DELETE link
WITH relation, count(*) AS removed
SET relation.size = relation.size - removed
