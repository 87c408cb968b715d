// Names and numbers of the objects of a relation that have a label.
// $id -> number, names: the label, then the aliases
// Language: member
MATCH (:Relation {id: $id})<-[:OBJECT_OF]-(member:Entity)
WHERE member.label <> ''
RETURN member.number AS number, [member.label] + coalesce(member.aliases, []) AS names
