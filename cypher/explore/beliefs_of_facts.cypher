// Beliefs of a run about facts, where it has any.
// For Neo4j Browser: :params {run: 'base', facts: ['Q142-P36-Q90']}
// Names: {run: 'Run'}
// One look-up per fact. $run: id of a run, $facts: [id] -> fact, theta, low, high, right, wrong, believed, question
UNWIND $facts AS fact
MATCH (belief:Belief {id: $run + '/' + fact})
USING INDEX SEEK belief:Belief(id)
RETURN fact, belief.theta AS theta, belief.low AS low, belief.high AS high, belief.right AS right, belief.wrong AS wrong,
       belief.believed AS believed,
       belief.question AS question
