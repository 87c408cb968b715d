// Facts around an entity in both directions, at most 500 in each. A fact from the entity to itself is outgoing.
// For Neo4j Browser: :params {id: 'Q142'}
// Names: {id: 'Entity'}
// $id -> direction (out, in), relation, relation_label, id, label, start, end, fact
CALL () {
  MATCH (e:Entity {id: $id})-[f:FACT]->(other)
  RETURN 'out' AS direction, f, other
  LIMIT 500
  UNION ALL
  MATCH (e:Entity {id: $id})<-[f:FACT]-(other)
  WHERE other.id <> $id
  RETURN 'in' AS direction, f, other
  LIMIT 500
}
OPTIONAL MATCH (r:Relation {id: f.relation})
RETURN direction, f.relation AS relation, r.label AS relation_label, other.id AS id, other.label AS label,
       f.start AS start, f.end AS end, f.id AS fact
ORDER BY direction DESC, relation, fact
