// Number of named objects of relations, in facts of any time, from which choices can be drawn. Walks their objects.
// $ids: [id] -> id, objects
// Language: object
UNWIND $ids AS id
MATCH (relation:Relation {id: id})
OPTIONAL MATCH (relation)<-[:OBJECT_OF]-(object:Entity)
WHERE object.label <> ''
RETURN id, count(object) AS objects
