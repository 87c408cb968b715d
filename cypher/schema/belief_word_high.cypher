// Index of the beliefs by run, word and upper bound of theta, to find the facts that a run most surely knows.
// no parameters -> no rows
CREATE INDEX belief_word_high IF NOT EXISTS FOR (belief:Belief) ON (belief.run, belief.believed, belief.high)
