// Index of the beliefs by run, word and lower bound of theta, to find the facts that a run most surely does not know.
// no parameters -> no rows
CREATE INDEX belief_word_low IF NOT EXISTS FOR (belief:Belief) ON (belief.run, belief.believed, belief.low)
