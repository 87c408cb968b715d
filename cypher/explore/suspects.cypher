// Where perhaps the graph is wrong, and not the models: facts that several models surely deny, answered wrong more often than right
// and all of theta's interval above one half, that none of them surely knows, of relations and among facts that they know. Of a
// relation, the mean theta of all facts that were asked is below one half. Around a fact are those with its subject or its object
// that a run has asked which denies it; their mean theta, by these runs, is below one half. Those first that stand out most: the
// mean theta of the fact, less that of those around it.
// For Neo4j Browser: :params {runs: null, models: 2, around: 3, candidates: 1000, limit: 25}
// Unless given: {runs: null, models: 2, around: 3, candidates: 1000, limit: 25}
// Scans the beliefs twice, and reads those around so many candidates, denied by most models and most surely, at entities of 1,000
// facts or fewer. $runs: ids of runs, null for all, $models: how many models deny it at least, $around: how many facts were asked
// around it at least, $candidates, $limit
//   -> relation, subject, object, models: that deny it, theta, around: how many facts were asked, theta_around, question, fact, path
MATCH (asked:Belief)
WHERE ($runs IS NULL OR asked.run IN $runs) AND asked.right + asked.wrong > 0
WITH asked.relation AS id, avg(asked.theta) AS of_relation
WHERE of_relation < 0.5
WITH collect(id) AS known
MATCH (belief:Belief)
WHERE belief.relation IN known AND ($runs IS NULL OR belief.run IN $runs)
  AND (belief.wrong > belief.right AND belief.low > 0.5 OR belief.right > belief.wrong AND belief.high < 0.5)
WITH belief.subject AS subject, belief.object AS object, belief.fact AS fact, belief.relation AS relation, belief.relation_label AS relation_label,
     count(DISTINCT belief.model) AS models, collect(DISTINCT belief.run) AS runs, avg(belief.theta) AS theta,
     min(belief.low) AS low, min(belief.theta) AS least, max(belief.question) AS question
WHERE models >= $models AND least > 0.5
WITH subject, object, fact, relation, relation_label, models, runs, theta, low, question
ORDER BY models DESC, low DESC, fact
LIMIT toInteger($candidates)
MATCH (s:Entity {id: subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: object})
USING INDEX SEEK o:Entity(id)
UNWIND [s, o] AS e
WITH DISTINCT s, o, fact, relation, relation_label, models, runs, theta, question, e
WHERE e.degree <= 1000
MATCH (e)-[other:FACT]-(:Entity)
WHERE other.id <> fact
UNWIND runs AS run
MATCH (near:Belief {id: run + '/' + other.id})
USING INDEX SEEK near:Belief(id)
WHERE near.right + near.wrong > 0
WITH DISTINCT s, o, fact, relation, relation_label, models, theta, question, near
WITH s, o, fact, relation, relation_label, models, theta, question, count(DISTINCT near.fact) AS around,
     avg(near.theta) AS theta_around
WHERE around >= $around AND theta_around < 0.5
WITH s, o, fact, relation, relation_label, models, theta, question, around, theta_around
ORDER BY theta - theta_around DESC, fact
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: relation})
OPTIONAL MATCH path = (s)-[:FACT {id: fact}]->(o)
RETURN coalesce(r.label, relation_label) AS relation, s.label AS subject, o.label AS object, models, theta, around,
       theta_around, question, fact, path
ORDER BY theta - theta_around DESC, fact
