// Results of a run by relation: number of asked facts, mean probability of knowing them, and the share
// of facts that the model knows, with more right answers than wrong ones (the win rate of findings).
// For Neo4j Browser: :params {run: null}
// Unless given: {run: null}
// Names: {run: 'Run'}
// Reads the run's beliefs. $run: id of a run, null for the latest -> run, relation, relation_label, asked, mean_known, known
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun.id AS run, begun.started AS started
ORDER BY started DESC, run DESC
LIMIT 1
MATCH (belief:Belief {run: run})
WHERE belief.right + belief.wrong > 0
WITH run, belief.relation AS relation, max(belief.relation_label) AS called, count(*) AS asked,
     1 - avg(belief.theta) AS mean_known,
     avg(CASE WHEN belief.right > belief.wrong THEN 1.0 ELSE 0.0 END) AS known
OPTIONAL MATCH (r:Relation {id: relation})
RETURN run, relation, coalesce(r.label, called) AS relation_label, asked, mean_known, known
ORDER BY asked DESC, relation
