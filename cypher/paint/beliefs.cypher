// Beliefs of a run about the facts that it asked, ordered by subject. Reads the run's beliefs; streamed.
// $run -> subject, object, fact, model, alpha, beta, theta, low, high, right, wrong, belief
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0
RETURN belief.subject AS subject, belief.object AS object, belief.fact AS fact, belief.model AS model, belief.alpha AS alpha,
       belief.beta AS beta, belief.theta AS theta, belief.low AS low, belief.high AS high, belief.right AS right,
       belief.wrong AS wrong, belief.believed AS belief
ORDER BY subject, fact
