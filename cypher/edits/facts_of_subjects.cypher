// Facts of entities as subjects that are current at a date, with names at both ends, at most $limit of each entity.
// $ids: [id], $as_of: yyyymmdd, $limit -> subject, fact, relation, object, label
UNWIND $ids AS id
MATCH (subject:Entity {id: id})
USING INDEX SEEK subject:Entity(id)
CALL (subject) {
  MATCH (subject)-[fact:FACT]->(object:Entity)
  WHERE coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of
    AND subject.label <> '' AND object.label <> ''
  RETURN fact, object
  ORDER BY fact.id
  LIMIT toInteger($limit)
}
RETURN subject.id AS subject, fact.id AS fact, fact.relation AS relation, object.id AS object, object.label AS label
ORDER BY subject, fact
