// Make a type that is not in the graph yet; it stands without a label until it is loaded.
// $ids: [id] -> no rows
UNWIND $ids AS id
OPTIONAL MATCH (present:Entity {id: id})
WITH id, present WHERE present IS NULL
CREATE (:Entity:Type {id: id, size: 0})
