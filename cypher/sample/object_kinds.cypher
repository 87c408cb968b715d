// Types of some objects of each of some relations, to choose between "who" and "what". Walks from the relation to its objects.
// $relations: ids, $objects: number
//   -> relation, types: labels of the types of these objects, each once per object
UNWIND $relations AS id
MATCH (relation:Relation {id: id})
CALL (relation) {
  MATCH (relation)<-[:OBJECT_OF]-(object:Entity)
  WITH object
  LIMIT toInteger($objects)
  OPTIONAL MATCH (object)-[:INSTANCE_OF]->(type:Entity)
  RETURN collect(type.label) AS types
}
RETURN relation.id AS relation, types
