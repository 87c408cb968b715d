// The relations with the sentences and the answers that a data set gave them, where one did, and their clozes.
// no parameters -> id, active, clozes, past_clozes, sentences: whole, in the data set's order, answers: [id], in its order
MATCH (relation:Relation)
RETURN relation.id AS id, relation.active AS active, coalesce(relation.clozes, []) AS clozes,
       coalesce(relation.past_clozes, []) AS past_clozes, coalesce(relation.sentences, []) AS sentences,
       coalesce(relation.answers, []) AS answers
ORDER BY id
