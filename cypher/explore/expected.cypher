// Expected probability of knowing the facts of an entity, asked or not, least probably known first. For an asked fact, it is 1 - theta
// of the run's belief. For other facts, it is 1 - E[theta] from the answers about other facts, by the effects of relation, subject,
// object and popularity that the learner `hierarchical` stores: x is normal with the sums of their means and variances, and E[theta]
// is the mean of the logistic function of x, by the trapezoidal rule. Runs of other learners have no expectation of unasked facts.
// For Neo4j Browser: :params {entity: 'France', run: null, limit: 25}
// Unless given: {run: null, limit: 25}
// Names: {entity: 'Entity', run: 'Run'}
// Reads all facts of the entity. $entity: id, or name on Neo4j, $run: id of a run, null for the latest, $limit
//   -> run, entity: id, relation, subject, object, known, asked: true or false, fact, path
OPTIONAL MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun
ORDER BY begun.started DESC, begun.id DESC
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
WITH begun, f, min(e.id) AS entity
WITH begun, f, entity, startNode(f) AS s, endNode(f) AS o
OPTIONAL MATCH (belief:Belief {id: begun.id + '/' + f.id})
OPTIONAL MATCH (mean:KgprobeEffect {id: begun.id + '/mean/'})
OPTIONAL MATCH (weight:KgprobeEffect {id: begun.id + '/popularity/'})
OPTIONAL MATCH (related:KgprobeEffect {id: begun.id + '/relation/' + f.relation})
OPTIONAL MATCH (subjects:KgprobeEffect {id: begun.id + '/entity/' + s.id})
OPTIONAL MATCH (objects:KgprobeEffect {id: begun.id + '/entity/' + o.id})
WITH begun, f, entity, s, o, belief, [p IN [s.popularity, o.popularity] WHERE p IS NOT NULL | log(1.0 + p)] AS popular,
     1 / begun.variance_mean + coalesce(mean.precision, 0.0) AS mean_precision, coalesce(mean.shift, 0.0) AS mean_shift,
     1 / begun.variance_popularity + coalesce(weight.precision, 0.0) AS weight_precision,
     coalesce(weight.shift, 0.0) AS weight_shift,
     1 / begun.variance_relation + coalesce(related.precision, 0.0) AS relation_precision,
     coalesce(related.shift, 0.0) AS relation_shift,
     1 / begun.variance_entity + coalesce(subjects.precision, 0.0) AS s_precision, coalesce(subjects.shift, 0.0) AS s_shift,
     1 / begun.variance_entity + coalesce(objects.precision, 0.0) AS o_precision, coalesce(objects.shift, 0.0) AS o_shift,
     CASE WHEN s.id = o.id THEN 2.0 ELSE 1.0 END AS s_times, CASE WHEN s.id = o.id THEN 0.0 ELSE 1.0 END AS o_times
WITH begun, f, entity, s, o, belief, mean_precision, mean_shift, weight_precision, weight_shift, relation_precision, relation_shift,
     s_precision, s_shift, o_precision, o_shift, s_times, o_times,
     CASE WHEN begun.popularity_spread IS NULL OR size(popular) = 0 THEN 0.0
          ELSE (reduce(sum = 0.0, p IN popular | sum + p) / size(popular) - begun.popularity_mean) / begun.popularity_spread
     END AS z
WITH begun, f, entity, s, o, belief,
     mean_shift / mean_precision + coalesce(z * weight_shift / weight_precision, 0.0) + relation_shift / relation_precision
     + s_times * s_shift / s_precision + o_times * o_shift / o_precision AS x,
     1 / mean_precision + coalesce(z * z / weight_precision, 0.0) + 1 / relation_precision
     + s_times * s_times / s_precision + o_times * o_times / o_precision + begun.variance_fact AS variance
WITH begun, f, entity, s, o, belief,
     reduce(sum = 0.0, i IN range(-20, 20) | sum + exp(-i * i / 32.0) / (1.0 + exp(-(x + sqrt(variance) * i / 4.0))))
     / reduce(sum = 0.0, i IN range(-20, 20) | sum + exp(-i * i / 32.0)) AS expected
WITH begun, f, entity, s, o, 1 - coalesce(belief.theta, expected) AS known, coalesce(belief.right + belief.wrong > 0, false) AS asked
ORDER BY coalesce(known, 2.0), f.id
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: f.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: f.id}]->(o)
RETURN begun.id AS run, entity, coalesce(r.label, f.relation) AS relation, s.label AS subject, o.label AS object, known, asked,
       f.id AS fact, path
ORDER BY coalesce(known, 2.0), fact
