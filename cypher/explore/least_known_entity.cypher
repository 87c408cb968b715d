// Entity with most facts that a run is sure the model does not know; without any, the entity with most asked facts.
// For Neo4j Browser: :params {run: 'base'}
// Names: {run: 'Run'}
// Reads the run's beliefs. $run: id of a run -> entity: its id, unknown: number of surely unknown facts, asked
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0
WITH belief, CASE WHEN belief.subject = belief.object THEN [belief.subject] ELSE [belief.subject, belief.object] END AS ends
UNWIND ends AS entity
RETURN entity, sum(CASE WHEN belief.believed = 'surely unknown' THEN 1 ELSE 0 END) AS unknown, count(*) AS asked
ORDER BY unknown DESC, asked DESC, entity
LIMIT 1
