// Grouping data of facts: names of both ends, types of the subject, and a date.
// $rows: [{subject, fact}], $year_relation: id of the relation whose literal at the subject dates a fact; null for the fact's own
//   start
//   -> fact, relation, subject, subject_label, object, object_label, types: [{id, label}], popularity, year: a date
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
OPTIONAL MATCH (subject)-[:INSTANCE_OF]->(type:Type)
WITH subject, object, fact,
     collect(CASE WHEN type IS NULL THEN NULL ELSE {id: type.id, label: coalesce(type.label, '')} END) AS types
OPTIONAL MATCH (subject)-[dated:FACT]->(date:Literal)
WHERE dated.relation = $year_relation
WITH subject, object, fact, types, min(date.value) AS date
RETURN fact.id AS fact, fact.relation AS relation, subject.id AS subject, subject.label AS subject_label,
       object.id AS object, object.label AS object_label, types, subject.popularity AS popularity,
       CASE WHEN $year_relation IS NULL THEN fact.start ELSE date END AS year
