// Facts around an entity in both directions, at most 500 in each. A fact from the entity to itself is outgoing.
// For Neo4j Browser: :params {id: 'Q142'}
// Names: {id: 'Entity'}
// $id: id, or name on Neo4j -> entity: its id, direction (out, in), relation, relation_label, id, label, start, end, fact
OPTIONAL MATCH (same:Entity {id: $id})
CALL (same) {
  WITH same
  WHERE same IS NOT NULL
  RETURN same AS e
  UNION
  WITH same
  WHERE same IS NULL AND $id IS NOT NULL
  CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace($id, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
  WITH node
  WHERE toLower(node.label) = toLower($id) OR any(alias IN coalesce(node.aliases, []) WHERE toLower(alias) = toLower($id))
  RETURN node AS e
}
CALL (e) {
  MATCH (e)-[f:FACT]->(other)
  RETURN 'out' AS direction, f, other
  LIMIT 500
  UNION ALL
  MATCH (e)<-[f:FACT]-(other)
  WHERE other.id <> e.id
  RETURN 'in' AS direction, f, other
  LIMIT 500
}
OPTIONAL MATCH (r:Relation {id: f.relation})
RETURN e.id AS entity, direction, f.relation AS relation, r.label AS relation_label, other.id AS id, other.label AS label,
       f.start AS start, f.end AS end, f.id AS fact
ORDER BY entity, direction DESC, relation, fact
