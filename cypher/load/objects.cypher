// Link entities to the relations they are an object of where no link is, and keep each relation's number of objects.
// $rows: [{id, relation}], each pair once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
MATCH (relation:Relation {id: row.relation})
OPTIONAL MATCH (entity)-[present:OBJECT_OF]->(relation)
WITH entity, relation, present WHERE present IS NULL
CREATE (entity)-[:OBJECT_OF]->(relation)
WITH relation, count(*) AS added
SET relation.size = relation.size + added
