// Link entities to new types, and update the sizes of the types. An entity's links correspond to its property ``types``, so that no
// search is needed.
// $rows: [{id, types: [id]}], each entity once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
USING INDEX SEEK entity:Entity(id)
UNWIND row.types AS id
MATCH (type:Entity {id: id})
USING INDEX SEEK type:Entity(id)
CREATE (entity)-[:INSTANCE_OF]->(type)
WITH type, count(*) AS added
SET type.size = type.size + added
