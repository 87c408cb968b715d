// Create missing literals, before the entities of a batch as in new_types.
// $ids: [id] -> no rows
UNWIND $ids AS id
OPTIONAL MATCH (present:Entity {id: id})
WITH id, present WHERE present IS NULL
CREATE (:Entity:Literal {id: id})
