// All beliefs of a run, as its rounds need them; read once when a run goes on.
// $run -> fact, alpha, beta, unaskable: whether the fact could not be asked
MATCH (belief:Belief {run: $run})
RETURN belief.fact AS fact, belief.alpha AS alpha, belief.beta AS beta, belief.unaskable IS NOT NULL AS unaskable
