// Numbers of all instances of types.
// $ids: [id] -> id, numbers: [number]
UNWIND $ids AS id
MATCH (type:Entity {id: id})<-[:INSTANCE_OF]-(member:Entity)
USING INDEX SEEK type:Entity(id)
RETURN id, collect(member.number) AS numbers
