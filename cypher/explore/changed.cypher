// Facts that a model has learned or forgotten between two runs: surely known to one run, and surely unknown to the other. Forgotten
// ones are first, and of them those that it most probably fails on.
// For Neo4j Browser: :params {run: null, against: null, entity: null, limit: 50}
// Unless given: {run: null, against: null, entity: null, limit: 50}
// Names: {run: 'Run', against: 'Run', entity: 'Entity'}
// Reads the run's beliefs, or those about the facts of the entity, and looks up the earlier ones. $run: id of a run, null for the
// latest, $against: id of the earlier run, null for the last one that began before, $entity: id of one of the two ends, or name on
// Neo4j, null for all, $limit
//   -> run, against, change: forgot or learned, relation, subject, object, known, known_before, right, wrong, entity: id of the
//      given one, else of the subject, fact, path
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
MATCH (before:Run)
WHERE before.id = $against OR $against IS NULL AND before.round > 0 AND before.started < begun.started
WITH entities, begun, before
ORDER BY before.started DESC, before.id DESC
LIMIT 1
CALL (begun, entities) {
  UNWIND CASE WHEN $entity IS NULL THEN [1] ELSE [] END AS every
  MATCH (now:Belief {run: begun.id})
  WHERE now.believed IN ['surely known', 'surely unknown']
  RETURN now, null AS entity
  UNION ALL
  UNWIND entities AS e
  MATCH (e)-[f:FACT]-(:Entity)
  WITH begun.id + '/' + f.id AS id, min(e.id) AS entity
  MATCH (now:Belief {id: id})
  USING INDEX SEEK now:Belief(id)
  WHERE now.believed IN ['surely known', 'surely unknown']
  RETURN now, entity
}
MATCH (old:Belief {id: before.id + '/' + now.fact})
USING INDEX SEEK old:Belief(id)
WHERE old.believed IN ['surely known', 'surely unknown'] AND old.believed <> now.believed
WITH begun, before, now, old, entity, CASE WHEN now.believed = 'surely known' THEN 'learned' ELSE 'forgot' END AS change
ORDER BY change, abs(now.theta - 0.5) DESC, now.fact
LIMIT toInteger($limit)
MATCH (s:Entity {id: now.subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: now.object})
USING INDEX SEEK o:Entity(id)
OPTIONAL MATCH (r:Relation {id: now.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: now.fact}]->(o)
RETURN begun.id AS run, before.id AS against, change, coalesce(r.label, now.relation_label) AS relation, s.label AS subject,
       o.label AS object, 1 - now.theta AS known, 1 - old.theta AS known_before, now.right AS right, now.wrong AS wrong,
       coalesce(entity, s.id) AS entity, now.fact AS fact, path
ORDER BY change, abs(known - 0.5) DESC, fact
