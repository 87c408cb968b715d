// Relations that have facts, at any time.
// no parameters -> id
MATCH (relation:Relation)
WHERE relation.size > 0
RETURN relation.id AS id
ORDER BY id
