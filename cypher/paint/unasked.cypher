// Facts that the run in view has not asked and most probably fails on. Reads facts by the index of theta until there are enough.
// $limit -> subject, object, fact, model, alpha, beta, theta, low, high, right, wrong, belief
MATCH (run:Run)
WHERE run.inView
MATCH (subject:Entity)-[fact:FACT]->(object:Entity)
WHERE fact.theta >= 0.0 AND fact.belief = 'not asked'
RETURN subject.id AS subject, object.id AS object, fact.id AS fact, run.model AS model, fact.alpha AS alpha, fact.beta AS beta,
       fact.theta AS theta, fact.low AS low, fact.high AS high, fact.right AS right, fact.wrong AS wrong, fact.belief AS belief
ORDER BY theta DESC, fact
LIMIT toInteger($limit)
