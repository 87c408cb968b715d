// Store with a run the variances of effects that the learner `hierarchical` has estimated.
// $id, $learned: {variance_mean, variance_popularity, variance_relation, variance_entity, variance_fact, popularity_mean,
//   popularity_spread, settled: round after which all beliefs were written, settled_graph: in which state of the graph}, where known
//   -> in_view: true if the facts hold the beliefs of this run
MATCH (run:Run {id: $id})
SET run += $learned
RETURN coalesce(run.inView, false) AS in_view
