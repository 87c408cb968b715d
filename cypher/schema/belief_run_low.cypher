// Index of the beliefs by run and lower bound of theta, to find the facts that a run most surely does not know.
// no parameters -> no rows
CREATE INDEX belief_run_low IF NOT EXISTS FOR (belief:Belief) ON (belief.run, belief.low)
