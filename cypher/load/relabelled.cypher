// Store that all facts of a relation have its label.
// $relation -> no rows
MATCH (relation:Relation {id: $relation})
REMOVE relation.relabel
