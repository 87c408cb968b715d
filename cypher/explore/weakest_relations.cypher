// Relations that a model knows least according to a run, each with the facts that it most probably fails on; known is the share of
// facts with more right answers than wrong ones.
// For Neo4j Browser: :params {run: null, relations: 3, facts: 10, asked: 5}
// Unless given: {run: null, relations: 3, facts: 10, asked: 5}
// Names: {run: 'Run'}
// Reads the run's beliefs twice. $run: id of a run, null for the latest, $relations: number, $facts: number for each, $asked:
// minimum number of asked facts of a relation
//   -> run, relation, asked, known, subject, object, fact_known, right, wrong, fact, path
MATCH (begun:Run)
WHERE begun.id = $run OR $run IS NULL AND begun.round > 0
WITH begun
ORDER BY begun.started DESC, begun.id DESC
LIMIT 1
MATCH (belief:Belief {run: begun.id})
WHERE belief.right + belief.wrong > 0
WITH begun, belief.relation AS id, max(belief.relation_label) AS called, count(*) AS asked,
     sum(CASE WHEN belief.right > belief.wrong THEN 1 ELSE 0 END) AS right
WHERE asked >= $asked
WITH begun, id, called, asked, toFloat(right) / asked AS known
ORDER BY known, id
LIMIT toInteger($relations)
WITH begun, collect({id: id, called: called, asked: asked, known: known}) AS weakest
MATCH (failing:Belief {run: begun.id})
WHERE failing.wrong >= failing.right AND failing.wrong > 0 AND failing.relation IN [weak IN weakest | weak.id]
WITH begun, weakest, failing
ORDER BY failing.theta DESC, failing.fact
WITH begun, weakest, failing.relation AS relation, collect(failing)[0..toInteger($facts)] AS of_relation
UNWIND [weak IN weakest WHERE weak.id = relation] AS weak
UNWIND of_relation AS failing
MATCH (s:Entity {id: failing.subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: failing.object})
USING INDEX SEEK o:Entity(id)
OPTIONAL MATCH (r:Relation {id: weak.id})
OPTIONAL MATCH path = (s)-[:FACT {id: failing.fact}]->(o)
RETURN begun.id AS run, coalesce(r.label, weak.called) AS relation, weak.asked AS asked, weak.known AS known,
       s.label AS subject, o.label AS object, 1 - failing.theta AS fact_known, failing.right AS right, failing.wrong AS wrong,
       failing.fact AS fact, path
ORDER BY known, relation, fact_known, fact
