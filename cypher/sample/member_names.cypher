// What the members of a type are called, those that have a label; with their numbers.
// $id -> number, names: the label, then the aliases
MATCH (:Entity {id: $id})<-[:INSTANCE_OF]-(member:Entity)
WHERE member.label <> ''
RETURN member.number AS number, [member.label] + coalesce(member.aliases, []) AS names
