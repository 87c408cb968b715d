// Every effect that a run has learned has one id, and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT effect_id IF NOT EXISTS FOR (effect:Effect) REQUIRE effect.id IS UNIQUE
