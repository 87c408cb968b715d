// Store with a run the variances of effects that the learner `hierarchical` has estimated.
// $id, $learned: {variance_mean, variance_popularity, variance_relation, variance_entity, variance_fact, popularity_mean,
//   popularity_spread, settled: round after which all beliefs were written}, where known
//   -> no rows
MATCH (run:Run {id: $id})
SET run += $learned
