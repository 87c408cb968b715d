// What the objects of a relation are called, those that have a label; with their numbers.
// $id -> number, names: the label, then the aliases
MATCH (:Relation {id: $id})<-[:OBJECT_OF]-(member:Entity)
WHERE member.label <> ''
RETURN member.number AS number, [member.label] + coalesce(member.aliases, []) AS names
