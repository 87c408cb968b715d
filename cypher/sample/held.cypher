// Facts of a subject by relation, at most $limit.
// $subject: id, $limit -> relation, id: the object's, label
// Language: object?
MATCH (:Entity {id: $subject})-[fact:FACT]->(object:Entity)
RETURN fact.relation AS relation, object.id AS id, coalesce(object.label, '') AS label
ORDER BY relation, id
LIMIT $limit
