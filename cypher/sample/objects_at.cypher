// Objects of one relation at some subjects, at any time.
// $subjects: ids, $relation: its id -> subject, object, label
// Language: object?
UNWIND $subjects AS id
MATCH (subject:Entity {id: id})
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[fact:FACT]->(object:Entity)
WHERE fact.relation = $relation
RETURN DISTINCT id AS subject, object.id AS object, coalesce(object.label, '') AS label
