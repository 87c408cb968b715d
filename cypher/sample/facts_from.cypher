// Facts with an entity as the subject, for entities with more than $max_degree facts in both directions; at most $max_degree + 1 of
// each entity, so that one with more of them is recognised.
// $relations: [id], $as_of: yyyymmdd, $by: popularity or degree, $max_degree, $ids: [id]
//   -> fact, relation, subject, object, literal, askable, of_subject, of_object: as sample/facts_around
// Language: subject, object
UNWIND $ids AS id
MATCH (subject:Entity {id: id})
USING INDEX SEEK subject:Entity(id)
WHERE subject.degree > $max_degree
CALL (subject) {
  MATCH (subject)-[fact:FACT]->(object:Entity)
  RETURN fact, object
  LIMIT toInteger($max_degree + 1)
}
RETURN fact.id AS fact, fact.relation AS relation, subject.id AS subject, object.id AS object,
       coalesce(object.datatype, '') <> '' AS literal,
       fact.relation IN $relations AND coalesce(fact.from, $as_of) <= $as_of
         AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
         AND subject.label <> '' AND object.label <> '' AS askable,
       CASE WHEN $by = 'degree' THEN subject.degree ELSE subject.popularity END AS of_subject,
       CASE WHEN $by = 'degree' THEN object.degree ELSE object.popularity END AS of_object
