// What the answers that a data set gave a relation are called; no row for one that the graph does not have.
// $ids: [id] -> id, label: empty where it has none
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
RETURN id, coalesce(entity.label, '') AS label
