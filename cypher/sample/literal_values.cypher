// Values of the literals among the objects of a relation, the first $most by number.
// $relation: id, $most -> number, value, datatype
MATCH (:Relation {id: $relation})<-[:OBJECT_OF]-(literal:Literal)
RETURN literal.number AS number, literal.value AS value, literal.datatype AS datatype
ORDER BY number LIMIT $most
