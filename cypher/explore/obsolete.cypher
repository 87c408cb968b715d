// Facts of which a model may still believe a former object: facts that a run does not know, the only ones of their subject and
// relation at the run's date, with a former object. Uses relationships painted by `kgprobe beliefs paint`; the run's report shows
// answers with the former object. Returns paths from the current object to the subject to the former object.
// For Neo4j Browser: :params {entity: null, limit: 50}
// Unless given: {entity: null, limit: 50}
// Names: {entity: 'Entity'}
// Reads all relationships UNSURE, UNKNOWN or FORGOT, or those of an entity, and the facts of subjects with 1,000 facts or fewer.
// $entity: id of the subject, or name on Neo4j, null for all, $limit
//   -> relation, subject, object, former, until: yyyymmdd, null for an unknown time, known, right, wrong, fact, path
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
  MATCH ()-[painted:UNSURE|UNKNOWN|FORGOT]->()
  RETURN painted
  UNION ALL
  UNWIND entities AS e
  MATCH (e)-[painted:UNSURE|UNKNOWN|FORGOT]->(:Entity)
  RETURN painted
}
WITH painted, startNode(painted) AS s, endNode(painted) AS o
WHERE painted.wrong >= painted.right AND s.degree <= 1000
MATCH (run:Run {id: painted.run})
MATCH (s)-[now:FACT {id: painted.fact}]->(o)
MATCH (s)-[ended:FACT]->(former:Entity)
WHERE ended.relation = now.relation AND ended.until < run.as_of AND former.id <> o.id
  AND NOT EXISTS { MATCH (s)-[also:FACT]->() WHERE also.relation = now.relation AND also.id <> now.id
                                               AND coalesce(also.until, run.as_of) >= run.as_of }
WITH s, o, painted, now, ended, former
ORDER BY painted.theta DESC, painted.fact, ended.until DESC, ended.id
LIMIT toInteger($limit)
MATCH path = (o)<-[:UNSURE|UNKNOWN|FORGOT {fact: painted.fact}]-(s)-[:FACT {id: ended.id}]->(former)
RETURN painted.relation AS relation, s.label AS subject, o.label AS object, former.label AS former,
       CASE WHEN ended.until = -10000000000000000 THEN null ELSE ended.until END AS until, 1 - painted.theta AS known,
       painted.right AS right, painted.wrong AS wrong, painted.fact AS fact, path
ORDER BY known, fact, coalesce(until, -10000000000000000) DESC, former
