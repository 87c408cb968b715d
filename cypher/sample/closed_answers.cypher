// Labels of the answers of a closed choice, without entities that are not in the graph.
// $ids: [id] -> id, label: empty without a label
// Language: entity
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
RETURN id, coalesce(entity.label, '') AS label
