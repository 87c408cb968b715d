// What a run learned of the facts that it asked itself, or tried to. Reads the run's beliefs.
// $run -> fact, subject, relation, object: ids, alpha, beta, right, wrong, refused, off_format, unaskable: why it could not be asked
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0 OR belief.unaskable IS NOT NULL
RETURN belief.fact AS fact, belief.subject AS subject, belief.relation AS relation, belief.object AS object,
       belief.alpha AS alpha, belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, coalesce(belief.refused, 0) AS refused,
       coalesce(belief.off_format, 0) AS off_format, belief.unaskable AS unaskable
ORDER BY fact
