// Make types that are not in the graph yet; they stand without a label until they are loaded. They come before the entities
// of a batch, because the embedded engine cannot add a label to a node that the same transaction made.
// $ids: [id] -> no rows
UNWIND $ids AS id
OPTIONAL MATCH (present:Entity {id: id})
WITH id, present WHERE present IS NULL
CREATE (:Entity:Type {id: id, size: 0})
