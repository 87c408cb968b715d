// Write what the parts that facts share have heard of a run's answers, by the learner `hierarchical`: the precision that the answers
// give to the effect of a relation or an entity (or to the mean, or the weight of popularity), and that precision times its mean.
// The prior's precision, 1 / variance, stands in the run, and adds up with it.
// $run, $rows: [{id: 'RUN/KIND/ID', kind: mean, popularity, relation or entity, of: an id, precision, shift}] -> no rows
UNWIND $rows AS row
MERGE (effect:Effect {id: row.id})
ON CREATE SET effect.run = $run, effect.kind = row.kind, effect.of = row.of
SET effect.precision = row.precision, effect.shift = row.shift
