// Numbers of all objects of relations.
// $ids: [id] -> id, numbers: [number]
UNWIND $ids AS id
MATCH (:Relation {id: id})<-[:OBJECT_OF]-(member:Entity)
RETURN id, collect(member.number) AS numbers
