// Shortest path between two entities through facts that a run surely knows, in any direction, as painted KNOWN or LEARNED by
// `kgprobe beliefs paint`. No row without a path of eight facts or fewer.
// For Neo4j Browser: :params {one: 'France', other: 'Japan'}
// Unless given: {}
// Names: {one: 'Entity', other: 'Entity'}
// Walks painted relationships. $one, $other: id, or name on Neo4j
//   -> facts: number of facts, entities, relations, path
OPTIONAL MATCH (same:Entity {id: $one})
CALL (same) {
  WITH same
  WHERE same IS NOT NULL
  RETURN same AS a
  UNION
  WITH same
  WHERE same IS NULL AND $one IS NOT NULL
  CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace($one, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
  WITH node
  WHERE toLower(node.label) = toLower($one) OR any(alias IN coalesce(node.aliases, []) WHERE toLower(alias) = toLower($one))
  RETURN node AS a
}
OPTIONAL MATCH (also:Entity {id: $other})
CALL (also) {
  WITH also
  WHERE also IS NOT NULL
  RETURN also AS b
  UNION
  WITH also
  WHERE also IS NULL AND $other IS NOT NULL
  CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace($other, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
  WITH node
  WHERE toLower(node.label) = toLower($other) OR any(alias IN coalesce(node.aliases, []) WHERE toLower(alias) = toLower($other))
  RETURN node AS b
}
MATCH path = shortestPath((a)-[:KNOWN|LEARNED*1..8]-(b))
RETURN length(path) AS facts, [e IN nodes(path) | e.label] AS entities, [r IN relationships(path) | r.relation] AS relations, path
ORDER BY facts, entities
LIMIT 1
