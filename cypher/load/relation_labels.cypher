// What relations are called, as their facts carry it, and whether they were called otherwise when their facts were written.
// no parameters -> id, label, relabel
MATCH (relation:Relation)
RETURN relation.id AS id, coalesce(relation.label, relation.id) AS label, coalesce(relation.relabel, false) AS relabel
ORDER BY id
