// Labels of the relations as on their facts, marked if the label has changed since the facts were written.
// no parameters -> id, label, relabel
MATCH (relation:Relation)
RETURN relation.id AS id, coalesce(relation.label, relation.id) AS label, coalesce(relation.relabel, false) AS relabel
ORDER BY id
