// Facts whose beliefs the last round of a run changed, least known first: the round asked them, or answers were propagated to them.
// For Neo4j Browser: :params {run: null, limit: 50}
// Unless given: {run: null, limit: 50}
// Names: {run: 'Run'}
// Reads the beliefs of the round. $run: id of a run, null for the run in view, or the latest if none is, $limit
//   -> run, round, relation, subject, object, known, known_low, known_high, believed, right, wrong, question, fact, path
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun
ORDER BY coalesce(begun.inView, false) DESC, begun.started DESC, begun.id DESC
LIMIT 1
MATCH (belief:Belief {run: begun.id, round: begun.round})
USING INDEX SEEK belief:Belief(run, round)
WITH begun, belief
ORDER BY belief.theta DESC, belief.fact
LIMIT toInteger($limit)
MATCH (s:Entity {id: belief.subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: belief.object})
USING INDEX SEEK o:Entity(id)
OPTIONAL MATCH (r:Relation {id: belief.relation})
OPTIONAL MATCH path = (s)-[:FACT {id: belief.fact}]->(o)
RETURN begun.id AS run, belief.round AS round, coalesce(r.label, belief.relation_label) AS relation, s.label AS subject,
       o.label AS object, 1 - belief.theta AS known, 1 - belief.high AS known_low, 1 - belief.low AS known_high,
       belief.believed AS believed, belief.right AS right, belief.wrong AS wrong, belief.question AS question,
       belief.fact AS fact, path
ORDER BY known, fact
