// Number of nodes and relationships of each imported kind, from Neo4j's count store. A kind without any also has a row, because each
// count precedes its name.
// no parameters -> name, count
CALL () {
  MATCH (n:Entity) WITH count(n) AS count RETURN 'Entity' AS name, count
  UNION ALL
  MATCH (n:Relation) WITH count(n) AS count RETURN 'Relation' AS name, count
  UNION ALL
  MATCH ()-[r:FACT]->() WITH count(r) AS count RETURN 'FACT' AS name, count
  UNION ALL
  MATCH ()-[r:INSTANCE_OF]->() WITH count(r) AS count RETURN 'INSTANCE_OF' AS name, count
  UNION ALL
  MATCH ()-[r:OBJECT_OF]->() WITH count(r) AS count RETURN 'OBJECT_OF' AS name, count
}
RETURN name, count
