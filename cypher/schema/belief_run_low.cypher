// The beliefs of a run by the lower bound of theta: those that it denies most surely are found without the others.
// no parameters -> no rows
CREATE INDEX belief_run_low IF NOT EXISTS FOR (belief:Belief) ON (belief.run, belief.low)
