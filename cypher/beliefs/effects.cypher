// Write the effects learned from a run's answers by the learner `hierarchical`: for each effect of a relation or an entity (or the
// mean, or the weight of popularity) the precision that the answers add, and that precision times its mean. The prior's precision, 1
// / variance, is stored with the run, and is added to it.
// $run, $rows: [{id: 'RUN/KIND/ID', kind: mean, popularity, relation or entity, of: an id, precision, shift}] -> no rows
UNWIND $rows AS row
MERGE (effect:KgprobeEffect {id: row.id})
ON CREATE SET effect.run = $run, effect.kind = row.kind, effect.of = row.of
SET effect.precision = row.precision, effect.shift = row.shift
