// Relations of the graph with their templates.
// no parameters
//   -> id, label, aliases, description, active, clozes, past_clozes, mined_clozes, statements, yes_no_questions, wh_questions,
//      sentences: a data set's templates in its order; reverse_clozes, reverse_past_clozes, reverse_wh_questions: about the subject
// Language: relation?
MATCH (relation:Relation)
RETURN relation.id AS id, coalesce(relation.label, '') AS label, coalesce(relation.aliases, []) AS aliases,
       coalesce(relation.description, '') AS description, relation.active AS active,
       coalesce(relation.clozes, []) AS clozes, coalesce(relation.past_clozes, []) AS past_clozes,
       coalesce(relation.mined_clozes, []) AS mined_clozes,
       coalesce(relation.statements, []) AS statements,
       coalesce(relation.yes_no_questions, []) AS yes_no_questions, coalesce(relation.wh_questions, []) AS wh_questions,
       coalesce(relation.sentences, []) AS sentences, coalesce(relation.reverse_clozes, []) AS reverse_clozes,
       coalesce(relation.reverse_past_clozes, []) AS reverse_past_clozes,
       coalesce(relation.reverse_wh_questions, []) AS reverse_wh_questions
ORDER BY id
