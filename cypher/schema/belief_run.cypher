// Index of the beliefs by run.
// no parameters -> no rows
CREATE INDEX belief_run IF NOT EXISTS FOR (belief:Belief) ON (belief.run)
