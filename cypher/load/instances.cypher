// Link entities to their types where no link is, and keep each type's size.
// $rows: [{id, type}], each pair once -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
MATCH (type:Entity {id: row.type})
OPTIONAL MATCH (entity)-[present:INSTANCE_OF]->(type)
WITH entity, type, present WHERE present IS NULL
CREATE (entity)-[:INSTANCE_OF]->(type)
WITH type, count(*) AS added
SET type.size = type.size + added
