// Values of the literals among the objects of relations.
// $ids: [id] -> id, literals: [{number, value, datatype}]
UNWIND $ids AS id
MATCH (:Relation {id: id})<-[:OBJECT_OF]-(literal:Literal)
RETURN id, collect({number: literal.number, value: literal.value, datatype: literal.datatype}) AS literals
