// What a run learned of the facts that it asked itself, or tried to. Scans the beliefs.
// $run -> fact, subject, relation, object: ids, alpha, beta, right, wrong, refused, off_format, unaskable: why it could not be asked
MATCH (subject:Entity)-[belief:BELIEF]->(object:Entity)
WHERE belief.run = $run AND (belief.right + belief.wrong > 0 OR belief.unaskable IS NOT NULL)
RETURN belief.fact AS fact, subject.id AS subject, belief.relation AS relation, object.id AS object, belief.alpha AS alpha,
       belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, coalesce(belief.refused, 0) AS refused,
       coalesce(belief.off_format, 0) AS off_format, belief.unaskable AS unaskable
ORDER BY fact
