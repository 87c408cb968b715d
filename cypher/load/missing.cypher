// Which of these entities are not in the graph.
// $ids: [id] -> id
UNWIND $ids AS id
OPTIONAL MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
WITH id, entity WHERE entity IS NULL
RETURN id
