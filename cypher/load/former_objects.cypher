// Unlink entities from relations that they are an object of no more. Walks the facts of each entity.
// $rows: [{id, relation}], each pair once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})-[link:OBJECT_OF]->(relation:Relation {id: row.relation})
OPTIONAL MATCH (entity)<-[fact:FACT]-()
WHERE fact.relation = row.relation
WITH link, relation, count(fact) AS facts
WHERE facts = 0
DELETE link
WITH relation, count(*) AS removed
SET relation.size = relation.size - removed
