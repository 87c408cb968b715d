// The numbers of all members of types.
// $ids: [id] -> id, numbers: [number]
UNWIND $ids AS id
MATCH (:Entity {id: id})<-[:INSTANCE_OF]-(member:Entity)
RETURN id, collect(member.number) AS numbers
