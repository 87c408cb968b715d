// Entities with what distinguishes namesakes, those with most facts first.
// $ids: [id] -> id, label, description, facts: number of facts
// Language: entity?
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
RETURN id, entity.label AS label, entity.description AS description, coalesce(entity.degree, 0) AS facts
ORDER BY facts DESC, id
