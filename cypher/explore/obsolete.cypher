// Facts of which a model may still believe a former object: facts that it does not know according to a run, the only ones of their
// subject and relation at the run's date, with a former object. The run's report shows answers with the former object. Returns paths
// from the current object to the subject to the former object.
// For Neo4j Browser: :params {run: null, entity: null, limit: 50}
// Unless given: {run: null, entity: null, limit: 50}
// Names: {run: 'Run', entity: 'Entity'}
// Reads the run's beliefs, or those about the facts of the entity, and the facts of unknown facts' subjects with 1,000 facts or
// fewer. $run: id of a run, null for the latest, $entity: id of the subject, or name on Neo4j, null for all, $limit
//   -> run, entity: id of the subject, relation, subject, object, former, until: yyyymmdd, null for an unknown time, known, right,
//      wrong, fact, path
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
WITH collect(DISTINCT e) AS entities
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH entities, begun
ORDER BY begun.started DESC, begun.id DESC
LIMIT 1
CALL (begun, entities) {
  UNWIND CASE WHEN $entity IS NULL THEN [1] ELSE [] END AS every
  MATCH (belief:Belief {run: begun.id})
  WHERE belief.wrong >= belief.right AND belief.wrong > 0
  RETURN belief
  UNION
  UNWIND entities AS e
  MATCH (e)-[f:FACT]->(:Entity)
  WITH DISTINCT begun.id + '/' + f.id AS id
  MATCH (belief:Belief {id: id})
  USING INDEX SEEK belief:Belief(id)
  WHERE belief.wrong >= belief.right AND belief.wrong > 0
  RETURN belief
}
WITH begun, belief.subject AS subject, collect(belief) AS beliefs
MATCH (s:Entity {id: subject})
USING INDEX SEEK s:Entity(id)
WHERE s.degree <= 1000
MATCH (s)-[ended:FACT]->(former:Entity)
WHERE ended.until < begun.as_of OR ended.ended
UNWIND [belief IN beliefs WHERE belief.relation = ended.relation AND belief.object <> former.id] AS belief
MATCH (s)-[now:FACT {id: belief.fact}]->(o:Entity)
WHERE NOT EXISTS { MATCH (s)-[also:FACT]->() WHERE also.relation = now.relation AND also.id <> now.id
                                               AND coalesce(also.until, begun.as_of) >= begun.as_of AND also.ended IS NULL }
WITH begun, s, o, belief, now, ended, former
ORDER BY belief.theta DESC, belief.fact, ended.until IS NULL, ended.until DESC, ended.id
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: now.relation})
MATCH path = (o)<-[:FACT {id: now.id}]-(s)-[:FACT {id: ended.id}]->(former)
RETURN begun.id AS run, s.id AS entity, coalesce(r.label, belief.relation_label) AS relation, s.label AS subject,
       o.label AS object, former.label AS former,
       ended.until AS until, 1 - belief.theta AS known,
       belief.right AS right, belief.wrong AS wrong, belief.fact AS fact, path
ORDER BY known, fact, until IS NULL, until DESC, former
