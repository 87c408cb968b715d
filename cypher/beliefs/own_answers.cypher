// Beliefs of a run about the facts that it asked or tried to ask. Reads the run's beliefs.
// $run
//   -> fact, subject, relation, object: ids, theta, low, high, believed, right, wrong, refused, off_format, chances, unaskable:
//      reason why it could not be asked
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0 OR belief.unaskable IS NOT NULL
RETURN belief.fact AS fact, belief.subject AS subject, belief.relation AS relation, belief.object AS object,
       belief.theta AS theta, belief.low AS low, belief.high AS high, belief.believed AS believed,
       belief.right AS right, belief.wrong AS wrong, coalesce(belief.refused, 0) AS refused,
       coalesce(belief.off_format, 0) AS off_format, belief.chances AS chances, belief.unaskable AS unaskable
ORDER BY fact
