// Link entities to types that they were no instances of, and keep each type's size. An entity's links are those that its
// ``types`` say, so that nobody needs to look for them.
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
