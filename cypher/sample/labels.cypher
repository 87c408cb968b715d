// Labels of entities, or ids without a label.
// $ids: [id] -> id, label
// Language: entity?
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
RETURN id, CASE WHEN coalesce(entity.label, '') = '' THEN id ELSE entity.label END AS label
