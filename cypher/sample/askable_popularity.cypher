// Facts that may be asked (as sample/askable) with the popularity or the degree of both ends; null where unknown. Scans the graph;
// streamed, for a sample that is balanced by it.
// $relations: [id], $as_of: yyyymmdd, $by: popularity or degree -> subject, fact, of_subject, of_object
// Language: subject, object
MATCH (subject:Entity)-[fact:FACT]->(object:Entity)
WHERE fact.relation IN $relations
  AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
  AND subject.label <> '' AND object.label <> ''
RETURN subject.id AS subject, fact.id AS fact,
       CASE WHEN $by = 'degree' THEN subject.degree ELSE subject.popularity END AS of_subject,
       CASE WHEN $by = 'degree' THEN object.degree ELSE object.popularity END AS of_object
