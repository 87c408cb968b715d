// Keep with a run what the learner `hierarchical` knows of how far facts differ, and who made it so.
// $id, $learned: {variance_mean, variance_popularity, variance_relation, variance_entity, variance_fact,
// popularity_mean, popularity_spread, settled: after which round all beliefs were written}, those that there are -> no rows
MATCH (run:Run {id: $id})
SET run += $learned
