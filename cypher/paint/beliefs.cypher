// Beliefs of a run about the facts that it asked, in words. Reads the run's beliefs; streamed.
// $run -> fact, believed
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0
RETURN belief.fact AS fact, belief.believed AS believed
