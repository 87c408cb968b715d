// Ids of entities that are not in the graph.
// $ids: [id] -> id
UNWIND $ids AS id
OPTIONAL MATCH (entity:Entity {id: id})
WITH id, entity WHERE entity IS NULL
RETURN id
