// Facts of a relation that point to an entity and are current at a date, with names at both ends, at most $limit of each row.
// $rows: [{relation, object}], $as_of: yyyymmdd, $limit -> relation, object, fact, subject, label: the subject's
UNWIND $rows AS row
MATCH (object:Entity {id: row.object})
USING INDEX SEEK object:Entity(id)
CALL (row, object) {
  MATCH (object)<-[fact:FACT]-(subject:Entity)
  WHERE fact.relation = row.relation
    AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of
    AND subject.label <> '' AND object.label <> ''
  RETURN fact, subject
  ORDER BY fact.id
  LIMIT toInteger($limit)
}
RETURN row.relation AS relation, object.id AS object, fact.id AS fact, subject.id AS subject, subject.label AS label
ORDER BY relation, object, fact
