// Index of the learned effects by run.
// no parameters -> no rows
CREATE INDEX effect_run IF NOT EXISTS FOR (effect:KgprobeEffect) ON (effect.run)
