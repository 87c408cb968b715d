// Types of some objects of each of some relations, to choose between "who" and "what". Walks from the relation to its objects.
// $relations: ids, $objects: number
//   -> relation, types: for each of these objects, the labels of its types
UNWIND $relations AS id
MATCH (relation:Relation {id: id})
CALL (relation) {
  MATCH (relation)<-[:OBJECT_OF]-(object:Entity)
  WITH object
  LIMIT toInteger($objects)
  RETURN collect([(object)-[:INSTANCE_OF]->(type:Entity) | type.label]) AS types
}
RETURN relation.id AS relation, types
