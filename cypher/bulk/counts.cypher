// How many nodes of the kinds that an import makes there are, and how many relationships; Neo4j keeps these numbers.
// no parameters -> name, count
CALL {
  MATCH (n:Entity) RETURN 'Entity' AS name, count(n) AS count
  UNION ALL
  MATCH (n:Relation) RETURN 'Relation' AS name, count(n) AS count
  UNION ALL
  MATCH ()-[r:FACT]->() RETURN 'FACT' AS name, count(r) AS count
  UNION ALL
  MATCH ()-[r:INSTANCE_OF]->() RETURN 'INSTANCE_OF' AS name, count(r) AS count
  UNION ALL
  MATCH ()-[r:OBJECT_OF]->() RETURN 'OBJECT_OF' AS name, count(r) AS count
}
RETURN name, count
