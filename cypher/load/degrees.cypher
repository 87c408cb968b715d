// Increase the degrees of entities.
// $rows: [{id, added}] -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
USING INDEX SEEK entity:Entity(id)
SET entity.degree = coalesce(entity.degree, 0) + row.added
