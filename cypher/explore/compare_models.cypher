// Beliefs of two runs, for example of two models, about the same facts, with the greatest differences first. Contains facts that
// either run has asked. right and wrong count own answers; known, the probability of knowing, includes propagated answers and is 0.5
// without any.
// For Neo4j Browser: :params {one: 'RUN', other: 'RUN', limit: 50}
// Unless given: {limit: 50}
// Names: {one: 'Run', other: 'Run'}
// Reads the beliefs of both runs. $one, $other: ids of runs, $limit
//   -> relation, subject, object, one_right, one_wrong, one_known, other_right, other_wrong, other_known, difference, fact, path
MATCH (belief:Belief)
WHERE belief.run IN [$one, $other]
WITH belief.subject AS subject, belief.object AS object, belief.fact AS fact,
     sum(CASE WHEN belief.run = $one THEN belief.right ELSE 0 END) AS one_right,
     sum(CASE WHEN belief.run = $one THEN belief.wrong ELSE 0 END) AS one_wrong,
     max(CASE WHEN belief.run = $one THEN belief.theta ELSE null END) AS one_found,
     sum(CASE WHEN belief.run = $other THEN belief.right ELSE 0 END) AS other_right,
     sum(CASE WHEN belief.run = $other THEN belief.wrong ELSE 0 END) AS other_wrong,
     max(CASE WHEN belief.run = $other THEN belief.theta ELSE null END) AS other_found
WHERE one_right + one_wrong + other_right + other_wrong > 0
WITH subject, object, fact, one_right, one_wrong, 1 - coalesce(one_found, 0.5) AS one_known,
     other_right, other_wrong, 1 - coalesce(other_found, 0.5) AS other_known
WITH subject, object, fact, one_right, one_wrong, one_known, other_right, other_wrong, other_known,
     abs(one_known - other_known) AS difference
ORDER BY difference DESC, fact
LIMIT toInteger($limit)
MATCH (s:Entity {id: subject})
USING INDEX SEEK s:Entity(id)
MATCH path = (s)-[asked:FACT {id: fact}]->(o:Entity)
OPTIONAL MATCH (r:Relation {id: asked.relation})
RETURN coalesce(r.label, asked.relation) AS relation, s.label AS subject, o.label AS object,
       one_right, one_wrong, one_known, other_right, other_wrong, other_known, difference, fact, path
ORDER BY difference DESC, fact
