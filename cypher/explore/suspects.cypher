// Facts that are perhaps wrong in the graph, not in the models: surely unknown to several models and surely known to none, of known
// relations and among known facts. The mean theta of all asked facts of the relation is below one half, and so is the mean theta of
// the asked facts with the same subject or object, by the runs that do not know the fact. The least probable common failures come
// first: 1 - known_around to the power of the number of models.
// For Neo4j Browser: :params {runs: null, models: 2, around: 3, candidates: 1000, limit: 25}
// Unless given: {runs: null, models: 2, around: 3, candidates: 1000, limit: 25}
// Names: {runs: 'Run'}
// Reads the beliefs of the runs once, then the surely unknown ones, and the facts around $candidates facts, unknown to most models
// and most surely, at entities with 1,000 facts or fewer. Holds a row for each surely unknown fact. $runs: ids of runs, null for
// all, $models: minimum number of models that do not know it, $around: minimum number of asked facts around it, $candidates, $limit
//   -> relation, subject, object, models: that do not know it, known, around: number of asked facts, known_around, question, fact,
//      path
MATCH (run:Run)
WHERE $runs IS NULL OR run.id IN $runs
WITH collect(run.id) AS wanted
UNWIND wanted AS run
MATCH (asked:Belief {run: run})
USING INDEX SEEK asked:Belief(run)
WHERE asked.right + asked.wrong > 0
WITH wanted, asked.relation AS id, avg(asked.theta) AS of_relation
WHERE of_relation < 0.5
WITH wanted, collect(id) AS known
UNWIND wanted AS run
MATCH (belief:Belief {run: run})
USING INDEX SEEK belief:Belief(run, believed, low)
WHERE belief.believed = 'surely unknown' AND belief.low > 0.5 AND belief.relation IN known
WITH wanted, belief.fact AS fact, count(DISTINCT belief.model) AS models, min(belief.low) AS low
WHERE models >= $models
UNWIND wanted AS run
OPTIONAL MATCH (knowing:Belief {id: run + '/' + fact})
WITH wanted, fact, models, low, sum(CASE WHEN knowing.believed = 'surely known' THEN 1 ELSE 0 END) AS known_by
WHERE known_by = 0
WITH wanted, fact, models, low
ORDER BY models DESC, low DESC, fact
LIMIT toInteger($candidates)
UNWIND wanted AS run
MATCH (denying:Belief {id: run + '/' + fact})
USING INDEX SEEK denying:Belief(id)
WHERE denying.believed = 'surely unknown'
WITH fact, models, denying.subject AS subject, denying.object AS object, denying.relation AS relation,
     max(denying.relation_label) AS relation_label, collect(denying.run) AS runs, avg(denying.theta) AS theta,
     max(denying.question) AS question
MATCH (s:Entity {id: subject})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: object})
USING INDEX SEEK o:Entity(id)
CALL (s, o, fact, runs) {
  UNWIND [s, o] AS e
  WITH DISTINCT e, fact, runs
  WHERE e.degree <= 1000
  MATCH (e)-[other:FACT]-()
  WHERE other.id <> fact
  WITH DISTINCT other.id AS other, runs
  UNWIND runs AS run
  MATCH (near:Belief {id: run + '/' + other})
  USING INDEX SEEK near:Belief(id)
  WHERE near.right + near.wrong > 0
  RETURN count(DISTINCT near.fact) AS around, avg(near.theta) AS theta_around
}
WITH s, o, fact, relation, relation_label, models, theta, question, around, theta_around
WHERE around >= $around AND theta_around < 0.5
WITH s, o, fact, relation, relation_label, models, theta, question, around, theta_around
ORDER BY models * log(theta_around), fact
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: relation})
OPTIONAL MATCH path = (s)-[:FACT {id: fact}]->(o)
RETURN coalesce(r.label, relation_label) AS relation, s.label AS subject, o.label AS object, models, 1 - theta AS known, around,
       1 - theta_around AS known_around, question, fact, path
ORDER BY models * log(1 - known_around), fact
