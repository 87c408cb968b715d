// All beliefs of a run, as its rounds need them; read once when a run goes on, and once when it ends.
// $run -> fact, alpha, beta, right, wrong, chances, unaskable: whether the fact could not be asked
MATCH (belief:Belief {run: $run})
RETURN belief.fact AS fact, belief.alpha AS alpha, belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, belief.chances AS chances, belief.unaskable IS NOT NULL AS unaskable
