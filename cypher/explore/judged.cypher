// How correct, truthful and informative models are by relation, as judges told in sweeps: with an interval where labels gave
// one, else as the judge says. The latest sweep first, in it the relation that is known least.
// For Neo4j Browser: :params {sweep: null}
// Unless given: {sweep: null}
// Names: {sweep: 'Sweep'}
// $sweep: id of a sweep, null for all  ->  sweep, model, relation, relation_label, facts, correct, correct_low, correct_high,
//   truthful, informative, kept: when it was
MATCH (found:Sweep)-[judged:JUDGED]->(relation:Relation)
WHERE $sweep IS NULL OR found.id = $sweep
RETURN found.id AS sweep, found.model AS model, relation.id AS relation, relation.label AS relation_label,
       judged.facts AS facts, judged.correct AS correct, judged.correct_low AS correct_low,
       judged.correct_high AS correct_high, judged.truthful AS truthful, judged.informative AS informative,
       found.kept AS kept
ORDER BY kept DESC, sweep, correct, relation
