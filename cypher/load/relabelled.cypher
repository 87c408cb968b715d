// All facts of a relation carry its label.
// $relation -> no rows
MATCH (relation:Relation {id: $relation})
REMOVE relation.relabel
