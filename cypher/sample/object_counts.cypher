// How many objects with a name relations have, of facts of any time: what choices can be drawn from. Walks their objects.
// $ids: [id] -> id, objects
UNWIND $ids AS id
MATCH (relation:Relation {id: id})
OPTIONAL MATCH (relation)<-[:OBJECT_OF]-(object:Entity)
WHERE object.label <> ''
RETURN id, count(object) AS objects
