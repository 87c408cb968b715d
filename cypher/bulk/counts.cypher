// How many nodes of the kinds that an import makes there are, and how many relationships; Neo4j keeps these numbers.
// A kind of which there is none has a row too: each count is taken before the name stands beside it.
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
