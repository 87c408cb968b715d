// The effects that a run has learned are found without reading those of others.
// no parameters -> no rows
CREATE INDEX effect_run IF NOT EXISTS FOR (effect:Effect) ON (effect.run)
