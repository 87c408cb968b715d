// Where a run may still believe what was true before: facts that it does not know, the only ones of their subject and relation at the
// run's date, where another object stood before. Of what `kgprobe beliefs paint` drew; whether the model answers with the former object is
// in the run's report. Paths from the object now to the subject to the former one.
// For Neo4j Browser: :params {entity: null, limit: 50}
// Unless given: {entity: null, limit: 50}
// Scans what was painted UNSURE, UNKNOWN or FORGOT, and reads the facts of its subjects, those of 1,000 facts or fewer. $entity: id or
// label of the subject, null for all, $limit
//   -> relation, subject, object, former, until: yyyymmdd, theta, right, wrong, fact, path
MATCH (s:Entity)-[painted:UNSURE|UNKNOWN|FORGOT]->(o:Entity)
WHERE ($entity IS NULL OR s.id = $entity OR s.label = $entity) AND painted.wrong >= painted.right AND s.degree <= 1000
MATCH (run:Run {id: painted.run})
MATCH (s)-[now:FACT {id: painted.fact}]->(o)
MATCH (s)-[ended:FACT]->(former:Entity)
WHERE ended.relation = now.relation AND ended.until < run.as_of AND former.id <> o.id
  AND NOT EXISTS { MATCH (s)-[also:FACT]->() WHERE also.relation = now.relation AND also.id <> now.id
                                               AND coalesce(also.until, run.as_of) >= run.as_of }
WITH s, o, painted, now, ended, former
ORDER BY painted.theta DESC, painted.fact, ended.until DESC, ended.id
LIMIT toInteger($limit)
MATCH path = (o)<-[:UNSURE|UNKNOWN|FORGOT {fact: painted.fact}]-(s)-[:FACT {id: ended.id}]->(former)
RETURN painted.relation AS relation, s.label AS subject, o.label AS object, former.label AS former, ended.until AS until,
       painted.theta AS theta, painted.right AS right, painted.wrong AS wrong, painted.fact AS fact, path
ORDER BY theta DESC, fact, until DESC, former
