// All beliefs of a run, for its rounds; read once when a run continues, and once at its end.
// $run -> fact, alpha, beta, right, wrong, chances, round: the last that touched it, unaskable: true if the fact could not be asked
MATCH (belief:Belief {run: $run})
RETURN belief.fact AS fact, belief.alpha AS alpha, belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, belief.chances AS chances, belief.round AS round, belief.unaskable IS NOT NULL AS unaskable
