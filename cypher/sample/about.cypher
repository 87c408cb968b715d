// Grouping data of facts: names of both ends, types of the subject, and dates.
// $rows: [{subject, fact}], $year_relations: ids of relations whose literals date a subject
//   -> fact, relation, subject, subject_label, object, object_label, types: [{id, label}], popularity, start: of the fact,
//      dates: [{relation, date}], the earliest date of the subject in each of these relations
// Language: subject?, object?, type?
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
OPTIONAL MATCH (subject)-[:INSTANCE_OF]->(type:Type)
WITH subject, object, fact,
     collect(CASE WHEN type IS NULL THEN NULL ELSE {id: type.id, label: coalesce(type.label, '')} END) AS types
OPTIONAL MATCH (subject)-[dated:FACT]->(literal:Literal)
WHERE dated.relation IN $year_relations
WITH subject, object, fact, types, dated.relation AS dating, min(literal.value) AS date
WITH subject, object, fact, types,
     collect(CASE WHEN dating IS NULL THEN NULL ELSE {relation: dating, date: date} END) AS dates
RETURN fact.id AS fact, fact.relation AS relation, subject.id AS subject, subject.label AS subject_label,
       object.id AS object, object.label AS object_label, types, subject.popularity AS popularity, fact.start AS start, dates
