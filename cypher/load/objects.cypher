// Link entities to relations of which they are an object, where the link is missing, and update each relation's number of objects.
// Walks the links of each entity once.
// $rows: [{id, relations: [id]}], each entity once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
USING INDEX SEEK entity:Entity(id)
OPTIONAL MATCH (entity)-[:OBJECT_OF]->(present:Relation)
WITH entity, row, collect(present.id) AS present
UNWIND row.relations AS name
WITH entity, name, present WHERE NOT name IN present
MATCH (relation:Relation {id: name})
CREATE (entity)-[:OBJECT_OF]->(relation)
WITH relation, count(*) AS added
SET relation.size = relation.size + added
