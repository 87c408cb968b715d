// Facts that a model probably does not know and that a run has not asked, least probably known first, around the entities whose answers are
// most evidence for hard facts. explore/expected explains how that probability follows from answers about other facts. Runs of other
// learners than `hierarchical` have none.
// For Neo4j Browser: :params {run: null, entities: 50, limit: 25}
// Unless given: {run: null, entities: 50, limit: 25}
// Names: {run: 'Run'}
// Scans the effects of all runs, and reads the facts of $entities entities with 1,000 facts or fewer. $run: id of a run, null for
// the latest, $entities, $limit
//   -> run, relation, subject, object, known, fact, path
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun
ORDER BY begun.started DESC, begun.id DESC
LIMIT 1
MATCH (effect:Effect)
WHERE effect.run = begun.id AND effect.kind = 'entity'
WITH begun, effect, effect.shift / (1 / begun.variance_entity + effect.precision) AS hardness
ORDER BY hardness DESC, effect.of
LIMIT toInteger($entities)
MATCH (e:Entity {id: effect.of})
USING INDEX SEEK e:Entity(id)
WHERE e.degree <= 1000
MATCH (e)-[f:FACT]-(:Entity)
WITH DISTINCT begun, f
WHERE f.relation IN begun.relations AND coalesce(f.from, begun.as_of) <= begun.as_of
  AND coalesce(f.until, begun.as_of) >= begun.as_of AND f.ended IS NULL
WITH begun, f, startNode(f) AS s, endNode(f) AS o
WHERE s.label <> '' AND o.label <> '' AND NOT EXISTS { MATCH (:Belief {id: begun.id + '/' + f.id}) }
OPTIONAL MATCH (mean:Effect {id: begun.id + '/mean/'})
OPTIONAL MATCH (weight:Effect {id: begun.id + '/popularity/'})
OPTIONAL MATCH (related:Effect {id: begun.id + '/relation/' + f.relation})
OPTIONAL MATCH (subjects:Effect {id: begun.id + '/entity/' + s.id})
OPTIONAL MATCH (objects:Effect {id: begun.id + '/entity/' + o.id})
WITH begun, f, s, o, [p IN [s.popularity, o.popularity] WHERE p IS NOT NULL | log(1.0 + p)] AS popular,
     1 / begun.variance_mean + coalesce(mean.precision, 0.0) AS mean_precision, coalesce(mean.shift, 0.0) AS mean_shift,
     1 / begun.variance_popularity + coalesce(weight.precision, 0.0) AS weight_precision,
     coalesce(weight.shift, 0.0) AS weight_shift,
     1 / begun.variance_relation + coalesce(related.precision, 0.0) AS relation_precision,
     coalesce(related.shift, 0.0) AS relation_shift,
     1 / begun.variance_entity + coalesce(subjects.precision, 0.0) AS s_precision, coalesce(subjects.shift, 0.0) AS s_shift,
     1 / begun.variance_entity + coalesce(objects.precision, 0.0) AS o_precision, coalesce(objects.shift, 0.0) AS o_shift,
     CASE WHEN s.id = o.id THEN 2.0 ELSE 1.0 END AS s_times, CASE WHEN s.id = o.id THEN 0.0 ELSE 1.0 END AS o_times
WITH begun, f, s, o, mean_precision, mean_shift, weight_precision, weight_shift, relation_precision, relation_shift,
     s_precision, s_shift, o_precision, o_shift, s_times, o_times,
     CASE WHEN begun.popularity_spread IS NULL OR size(popular) = 0 THEN 0.0
          ELSE (reduce(sum = 0.0, p IN popular | sum + p) / size(popular) - begun.popularity_mean) / begun.popularity_spread
     END AS z
WITH begun, f, s, o,
     mean_shift / mean_precision + coalesce(z * weight_shift / weight_precision, 0.0) + relation_shift / relation_precision
     + s_times * s_shift / s_precision + o_times * o_shift / o_precision AS x,
     1 / mean_precision + coalesce(z * z / weight_precision, 0.0) + 1 / relation_precision
     + s_times * s_times / s_precision + o_times * o_times / o_precision + begun.variance_fact AS variance
WITH begun, f, s, o,
     reduce(sum = 0.0, i IN range(-20, 20) | sum + exp(-i * i / 32.0) / (1.0 + exp(-(x + sqrt(variance) * i / 4.0))))
     / reduce(sum = 0.0, i IN range(-20, 20) | sum + exp(-i * i / 32.0)) AS expected
WITH begun, f, s, o, 1 - expected AS known
ORDER BY known, f.id
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: f.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: f.id}]->(o)
RETURN begun.id AS run, coalesce(r.label, f.relation) AS relation, s.label AS subject, o.label AS object, known,
       f.id AS fact, path
ORDER BY known, fact
