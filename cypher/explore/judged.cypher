// Correctness, truthfulness and informativeness of models by relation, from judged graphs: with an interval if it was
// estimated with labels, else by the judge alone. The latest judged graph first, in it the least known relations.
// For Neo4j Browser: :params {judged_graph: null}
// Unless given: {judged_graph: null}
// Names: {judged_graph: 'JudgedGraph'}
// $judged_graph: id of a judged graph, null for all
//   -> judged_graph, model, relation, relation_label, facts, correct, correct_low, correct_high, truthful, informative,
//      kept: time of the judging
MATCH (found:KgprobeJudgedGraph)-[judged:JUDGED]->(relation:Relation)
WHERE $judged_graph IS NULL OR found.id = $judged_graph
RETURN found.id AS judged_graph, found.model AS model, relation.id AS relation, relation.label AS relation_label,
       judged.facts AS facts, judged.correct AS correct, judged.correct_low AS correct_low,
       judged.correct_high AS correct_high, judged.truthful AS truthful, judged.informative AS informative,
       found.kept AS kept
ORDER BY kept DESC, judged_graph, correct, relation
