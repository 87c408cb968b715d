// How often a run got right and wrong answers about each fact that it asked, or tried to. Scans the beliefs.
// $run -> fact, subject, object: ids, right, wrong
MATCH (subject:Entity)-[belief:BELIEF]->(object:Entity)
WHERE belief.run = $run AND (belief.right + belief.wrong > 0 OR belief.unaskable IS NOT NULL)
RETURN belief.fact AS fact, subject.id AS subject, object.id AS object, belief.right AS right, belief.wrong AS wrong
ORDER BY fact
