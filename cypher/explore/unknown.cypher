// Facts that a model does not know according to a run: asked, without more right answers than wrong ones. Surely unknown facts
// first, and of these those with the lowest upper bound of the probability of knowing them, as in findings.
// For Neo4j Browser: :params {run: null, limit: 25}
// Unless given: {run: null, limit: 25}
// Names: {run: 'Run'}
// Reads $limit beliefs of each word and their ties, by an index. $run: id of a run, null for the latest, $limit
//   -> run, relation, subject, object, known, known_low, known_high, believed, right, wrong, question, fact, path
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun.id AS run, begun.started AS started
ORDER BY started DESC, run DESC
LIMIT 1
UNWIND ['surely unknown', 'leans unknown'] AS word
CALL (run, word) {
  MATCH (belief:Belief {run: run, believed: word})
  USING INDEX SEEK belief:Belief(run, believed, low)
  WHERE belief.low >= 0.0 AND belief.right + belief.wrong > 0
  RETURN belief
  ORDER BY belief.run DESC, belief.believed DESC, belief.low DESC, belief.fact
  LIMIT toInteger($limit)
}
WITH run, belief
ORDER BY belief.believed <> 'surely unknown', belief.low DESC, belief.fact
LIMIT toInteger($limit)
MATCH (s:Entity {id: belief.subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: belief.object})
USING INDEX SEEK o:Entity(id)
OPTIONAL MATCH (r:Relation {id: belief.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: belief.fact}]->(o)
RETURN run, coalesce(r.label, belief.relation_label) AS relation, s.label AS subject, o.label AS object,
       1 - belief.theta AS known, 1 - belief.high AS known_low, 1 - belief.low AS known_high, belief.believed AS believed,
       belief.right AS right, belief.wrong AS wrong, belief.question AS question, belief.fact AS fact, path
ORDER BY believed <> 'surely unknown', known_high, fact
