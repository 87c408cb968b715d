// Best known path between two entities: of the paths of at most $facts facts, in any direction, the one whose least known fact is
// best known to the model of the run in view, to one percentage point; of equally known ones, the shortest. Returns a path for each
// pair of entities with these names. `kgprobe graph path` is exact.
// For Neo4j Browser: :params {one: 'France', other: 'Berlin', facts: 6}
// Unless given: {facts: 6}
// Names: {one: 'Entity', other: 'Entity'}
// Only for Neo4j; on the embedded engine, use `kgprobe graph path`.
// Searches from both entities up to 100 times: through facts known with 99%, with 98%, and so on, until there is a path. $one,
// $other: ids or names, $facts: at most 8
//   -> run, one, other: ids, known: of the least known fact, facts: number, entities, relations, each_known, path
MATCH (begun:Run)
WHERE begun.inView
WITH begun
LIMIT 1
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
WITH DISTINCT begun, a, b
WHERE a.id <> b.id
CALL (a, b) {
  UNWIND range(1, 100) AS percent
  CALL (a, b, percent) {
    MATCH path = shortestPath((a)-[:FACT*1..8]-(b))
    WHERE all(fact IN relationships(path) WHERE fact.theta <= percent / 100.0)
    RETURN path
  }
  WITH path
  WHERE length(path) <= $facts
  RETURN path
  LIMIT 1
}
WITH begun, a, b, path, [fact IN relationships(path) | 1 - fact.theta] AS each_known
RETURN begun.id AS run, a.id AS one, b.id AS other,
       reduce(least = 1.0, each IN each_known | CASE WHEN each < least THEN each ELSE least END) AS known, length(path) AS facts,
       [e IN nodes(path) | e.label] AS entities, [fact IN relationships(path) | fact.relation_label] AS relations, each_known, path
ORDER BY one, other
