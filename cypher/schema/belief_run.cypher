// The beliefs of a run are found without reading those of others.
// no parameters -> no rows
CREATE INDEX belief_run IF NOT EXISTS FOR (belief:Belief) ON (belief.run)
