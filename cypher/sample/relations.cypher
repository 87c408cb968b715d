// The relations of the graph, with their templates.
// no parameters -> id, label, active, clozes, statements, yes_no_questions, wh_questions
MATCH (relation:Relation)
RETURN relation.id AS id, relation.label AS label, relation.active AS active,
       coalesce(relation.clozes, []) AS clozes, coalesce(relation.statements, []) AS statements,
       coalesce(relation.yes_no_questions, []) AS yes_no_questions, coalesce(relation.wh_questions, []) AS wh_questions
ORDER BY id
