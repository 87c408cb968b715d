// Objects of a relation with a label, ordered by number; any of them above a limit. Walks as many.
// $id, $limit -> id, label
// Language: member
MATCH (:Relation {id: $id})<-[:OBJECT_OF]-(member:Entity)
WHERE member.label <> ''
WITH member LIMIT $limit
RETURN member.id AS id, member.label AS label
ORDER BY member.number
