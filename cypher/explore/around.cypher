// Facts of an entity as subject or object, with the belief of a run: those that the model most probably fails on first, facts
// without a belief last.
// For Neo4j Browser: :params {entity: 'France', run: null, limit: 25}
// Unless given: {run: null, limit: 25}
// Names: {entity: 'Entity', run: 'Run'}
// Reads all facts of the entity. $entity: id, or name on Neo4j, $run: id of a run, null for the latest, $limit
//   -> run, entity: id, relation, subject, object, known, known_low, known_high, believed, right, wrong, question, fact, path
OPTIONAL MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun.id AS run, begun.started AS started
ORDER BY started DESC, run DESC
LIMIT 1
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
MATCH (e)-[f:FACT]-(:Entity)
WITH run, f, min(e.id) AS entity
WITH run, f, entity, startNode(f) AS s, endNode(f) AS o
OPTIONAL MATCH (belief:Belief {id: run + '/' + f.id})
WITH run, f, entity, s, o, belief
ORDER BY coalesce(belief.theta, -1.0) DESC, f.id
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: f.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: f.id}]->(o)
RETURN run, entity, coalesce(r.label, f.relation) AS relation, s.label AS subject, o.label AS object, 1 - belief.theta AS known,
       1 - belief.high AS known_low, 1 - belief.low AS known_high, belief.believed AS believed,
       belief.right AS right, belief.wrong AS wrong, belief.question AS question, f.id AS fact, path
ORDER BY coalesce(known, 2.0), fact
