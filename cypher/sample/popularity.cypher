// Popularity or degree of both ends of facts; null where unknown.
// $by: popularity or degree, $rows: [{subject, fact}] -> subject, fact, of_subject, of_object
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
RETURN subject.id AS subject, fact.id AS fact,
       CASE WHEN $by = 'degree' THEN subject.degree ELSE subject.popularity END AS of_subject,
       CASE WHEN $by = 'degree' THEN object.degree ELSE object.popularity END AS of_object
