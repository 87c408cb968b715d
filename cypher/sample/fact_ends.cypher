// Relations and ends of facts, with the popularity or the degree of both ends; null where unknown.
// $by: popularity or degree, $rows: [{subject, fact}]
//   -> subject, fact, relation, object, literal: true if the object is a literal, of_subject, of_object
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
RETURN subject.id AS subject, fact.id AS fact, fact.relation AS relation, object.id AS object,
       coalesce(object.datatype, '') <> '' AS literal,
       CASE WHEN $by = 'degree' THEN subject.degree ELSE subject.popularity END AS of_subject,
       CASE WHEN $by = 'degree' THEN object.degree ELSE object.popularity END AS of_object
