// Relations with a closed choice of answers from a data set.
// no parameters -> id, answers: ids of the entities, in the data set's order
MATCH (relation:Relation)
WHERE size(relation.answers) > 0
RETURN relation.id AS id, relation.answers AS answers
ORDER BY id
