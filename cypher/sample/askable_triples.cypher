// Facts that may be asked (current, with a name at both ends) with their relations and ends, and the popularity or the degree of both ends; null
// where unknown. Scans the graph; streamed, once for each draw of controls that are not near the taught facts.
// $relations: [id], $as_of: yyyymmdd, $by: popularity or degree
//   -> fact, relation, subject, object, literal: true if the object is a literal, of_subject, of_object
// Language: subject, object
MATCH (subject:Entity)-[fact:FACT]->(object:Entity)
WHERE fact.relation IN $relations
  AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
  AND subject.label <> '' AND object.label <> ''
RETURN fact.id AS fact, fact.relation AS relation, subject.id AS subject, object.id AS object,
       coalesce(object.datatype, '') <> '' AS literal,
       CASE WHEN $by = 'degree' THEN subject.degree ELSE subject.popularity END AS of_subject,
       CASE WHEN $by = 'degree' THEN object.degree ELSE object.popularity END AS of_object
