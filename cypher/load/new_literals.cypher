// Make literals that are not in the graph yet; before the entities of a batch, for the reason that new_types gives.
// $ids: [id] -> no rows
UNWIND $ids AS id
OPTIONAL MATCH (present:Entity {id: id})
WITH id, present WHERE present IS NULL
CREATE (:Entity:Literal {id: id})
