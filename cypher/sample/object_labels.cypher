// The objects of a relation that have a label, by their numbers; any of them where there are more than a limit. Walks as
// many.
// $id, $limit -> id, label
MATCH (:Relation {id: $id})<-[:OBJECT_OF]-(member:Entity)
WHERE member.label <> ''
WITH member LIMIT $limit
RETURN member.id AS id, member.label AS label
ORDER BY member.number
