// Facts that a run has learned or forgotten since an earlier run, forgotten ones first, as painted LEARNED or FORGOT by `kgprobe
// beliefs paint --run NEW --against OLD`. Returns painted paths.
// For Neo4j Browser: :params {entity: null, limit: 50}
// Unless given: {entity: null, limit: 50}
// Names: {entity: 'Entity'}
// Reads all relationships LEARNED or FORGOT, or those of an entity. $entity: id of one of the two ends, or name on Neo4j, null for
// all, $limit
//   -> change, relation, subject, object, known, right, wrong, fact, path
OPTIONAL MATCH (same:Entity {id: $entity})
CALL (same) {
  WITH same
  WHERE same IS NOT NULL
  RETURN same AS e
  UNION
  WITH same
  WHERE same IS NULL AND $entity IS NOT NULL
  CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace($entity, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
  WITH node
  WHERE toLower(node.label) = toLower($entity) OR any(alias IN coalesce(node.aliases, []) WHERE toLower(alias) = toLower($entity))
  RETURN node AS e
}
WITH collect(e) AS entities
CALL (entities) {
  UNWIND CASE WHEN $entity IS NULL THEN [1] ELSE [] END AS every
  MATCH ()-[painted:LEARNED|FORGOT]->()
  RETURN painted
  UNION ALL
  UNWIND entities AS e
  MATCH (e)-[painted:LEARNED|FORGOT]-(:Entity)
  RETURN painted
}
WITH DISTINCT painted
WITH painted, toLower(type(painted)) AS change
ORDER BY change, abs(painted.theta - 0.5) DESC, painted.fact
LIMIT toInteger($limit)
MATCH path = (s:Entity)-[painted]->(o:Entity)
RETURN change, painted.relation AS relation, s.label AS subject, o.label AS object,
       1 - painted.theta AS known, painted.right AS right, painted.wrong AS wrong, painted.fact AS fact, path
ORDER BY change, abs(known - 0.5) DESC, fact
