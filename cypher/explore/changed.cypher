// What a run has learned or forgotten since an earlier one: what `kgprobe beliefs paint --run NEW --against OLD` drew as LEARNED or
// FORGOT, what was forgotten first. Paths of what was painted.
// For Neo4j Browser: :params {entity: null, limit: 50}
// Unless given: {entity: null, limit: 50}
// Scans what was painted LEARNED or FORGOT. $entity: id or label of one of the two ends, null for all, $limit
//   -> change, relation, subject, object, theta, right, wrong, fact, path
MATCH path = (s:Entity)-[painted:LEARNED|FORGOT]->(o:Entity)
WHERE $entity IS NULL OR s.id = $entity OR o.id = $entity OR s.label = $entity OR o.label = $entity
RETURN toLower(type(painted)) AS change, painted.relation AS relation, s.label AS subject, o.label AS object,
       painted.theta AS theta, painted.right AS right, painted.wrong AS wrong, painted.fact AS fact, path
ORDER BY change, abs(theta - 0.5) DESC, fact
LIMIT toInteger($limit)
