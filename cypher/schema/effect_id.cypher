// Unique id of an effect learned by a run, with an index.
// no parameters -> no rows
CREATE CONSTRAINT effect_id IF NOT EXISTS FOR (effect:KgprobeEffect) REQUIRE effect.id IS UNIQUE
