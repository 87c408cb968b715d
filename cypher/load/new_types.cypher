// Create missing types, which have no label until they are loaded. Run it before the entities of a batch: the embedded engine cannot
// add a label to a node of the same transaction.
// $ids: [id] -> no rows
UNWIND $ids AS id
OPTIONAL MATCH (present:Entity {id: id})
WITH id, present WHERE present IS NULL
CREATE (:Entity:Type {id: id, size: 0})
