// Replacements of a fact's subject among the entities with these numbers: they have a name, are not the subject, and share a type
// with it if it has any.
// $rows: [{subject, fact, numbers}] -> fact, number, label
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
USING INDEX SEEK subject:Entity(id)
WITH row, subject.id AS asked, coalesce(subject.types, []) AS types
UNWIND row.numbers AS number
MATCH (other:Entity {number: number})
USING INDEX SEEK other:Entity(number)
WHERE other.label <> '' AND other.id <> asked
  AND (size(types) = 0 OR any(type IN coalesce(other.types, []) WHERE type IN types))
RETURN row.fact AS fact, number, other.label AS label
