// Names and numbers of the instances of a type that have a label.
// $id -> number, names: the label, then the aliases
// Language: member
MATCH (:Entity {id: $id})<-[:INSTANCE_OF]-(member:Entity)
WHERE member.label <> ''
RETURN member.number AS number, [member.label] + coalesce(member.aliases, []) AS names
