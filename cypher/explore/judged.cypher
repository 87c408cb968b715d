// Correctness, truthfulness and informativeness of models by relation, from the sweeps of judges: with an interval if it was
// estimated with labels, else by the judge alone. The latest sweep first, in it the least known relations.
// For Neo4j Browser: :params {sweep: null}
// Unless given: {sweep: null}
// Names: {sweep: 'Sweep'}
// $sweep: id of a sweep, null for all
//   -> sweep, model, relation, relation_label, facts, correct, correct_low, correct_high, truthful, informative, kept: time of the
//      sweep
MATCH (found:Sweep)-[judged:JUDGED]->(relation:Relation)
WHERE $sweep IS NULL OR found.id = $sweep
RETURN found.id AS sweep, found.model AS model, relation.id AS relation, relation.label AS relation_label,
       judged.facts AS facts, judged.correct AS correct, judged.correct_low AS correct_low,
       judged.correct_high AS correct_high, judged.truthful AS truthful, judged.informative AS informative,
       found.kept AS kept
ORDER BY kept DESC, sweep, correct, relation
