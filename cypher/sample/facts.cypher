// Facts with the names of both ends.
// $rows: [{subject, fact}]
//   -> fact, relation, start, end, subject, subject_label, subject_aliases, object, object_label, object_aliases
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
RETURN fact.id AS fact, fact.relation AS relation, fact.start AS start, fact.end AS end,
       subject.id AS subject, subject.label AS subject_label, coalesce(subject.aliases, []) AS subject_aliases,
       object.id AS object, object.label AS object_label, coalesce(object.aliases, []) AS object_aliases
