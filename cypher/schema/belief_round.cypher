// Index of the beliefs by run and round, to find those that the last round changed.
// no parameters -> no rows
CREATE INDEX belief_round IF NOT EXISTS FOR (belief:Belief) ON (belief.run, belief.round)
