// The facts that a model knows, by a run, the surest first: answered right more often than wrong, and E[theta], the probability
// that it fails, below one half; those with the lowest upper bound of theta first, as findings list them. Surely: all of theta's
// interval is below one half (a finding asks, besides, that a guesser would hardly have had as many right answers).
// For Neo4j Browser: :params {run: null, limit: 25}
// Unless given: {run: null, limit: 25}
// Reads the run's beliefs. $run: id of a run, null for the one begun last, $limit
//   -> run, relation, subject, object, theta, low, high, believed, right, wrong, question, fact, path
MATCH (begun:Run)
WHERE $run IS NULL OR begun.id = $run
WITH begun.id AS run, begun.started AS started
ORDER BY started DESC, run DESC
LIMIT 1
MATCH (belief:Belief {run: run})
WHERE belief.right > belief.wrong AND belief.theta < 0.5
WITH run, belief
ORDER BY belief.high, belief.fact
LIMIT toInteger($limit)
MATCH (s:Entity {id: belief.subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: belief.object})
USING INDEX SEEK o:Entity(id)
OPTIONAL MATCH (r:Relation {id: belief.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: belief.fact}]->(o)
RETURN run, coalesce(r.label, belief.relation_label) AS relation, s.label AS subject, o.label AS object,
       belief.theta AS theta, belief.low AS low, belief.high AS high,
       CASE WHEN belief.right > belief.wrong AND belief.high < 0.5 THEN 'surely known'
            WHEN belief.wrong > belief.right AND belief.low > 0.5 THEN 'surely unknown'
            WHEN belief.theta < 0.5 THEN 'leans known'
            WHEN belief.theta >= 0.5 THEN 'leans unknown'
       END AS believed,
       belief.right AS right, belief.wrong AS wrong,
       belief.question AS question, belief.fact AS fact, path
ORDER BY high, fact
