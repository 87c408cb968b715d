// Ignorance by type of the subject and relation: number of asked facts, share of facts that the model does not know, without more
// right answers than wrong ones, and mean probability of knowing them. Least known first. A subject with several types counts in each.
// For Neo4j Browser: :params {run: null, asked: 5, limit: 50}
// Unless given: {run: null, asked: 5, limit: 50}
// Names: {run: 'Run'}
// Reads the run's beliefs and the types of their subjects. $run: id of a run, null for the latest, $asked: minimum number of asked
// facts, $limit
//   -> run, type, type_label, relation, relation_label, asked, unknown: share, mean_known
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun
ORDER BY begun.started DESC, begun.id DESC
LIMIT 1
MATCH (belief:Belief {run: begun.id})
WHERE belief.right + belief.wrong > 0
WITH begun, belief.subject AS subject, belief.relation AS relation, count(*) AS asked,
     sum(CASE WHEN belief.right > belief.wrong THEN 0 ELSE 1 END) AS unknown, sum(belief.theta) AS theta
MATCH (s:Entity {id: subject})
USING INDEX SEEK s:Entity(id)
MATCH (s)-[:INSTANCE_OF]->(t:Type)
WITH begun, t, relation, sum(asked) AS asked, sum(unknown) AS unknown, sum(theta) AS theta
WHERE asked >= $asked
WITH begun, t, relation, asked, toFloat(unknown) / asked AS unknown, 1 - theta / asked AS mean_known
ORDER BY unknown DESC, asked DESC, t.id, relation
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: relation})
RETURN begun.id AS run, t.id AS type, t.label AS type_label, relation, coalesce(r.label, relation) AS relation_label, asked,
       unknown, mean_known
ORDER BY unknown DESC, asked DESC, type, relation
