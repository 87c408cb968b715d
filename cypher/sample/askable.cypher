// Facts that a run may ask: of these relations, current at a date, with a name at both ends. Scans the graph; read once for each
// run.
// $relations: [id], $as_of: yyyymmdd -> subject, fact
// Language: subject, object
MATCH (subject:Entity)-[fact:FACT]->(object:Entity)
WHERE fact.relation IN $relations
  AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
  AND subject.label <> '' AND object.label <> ''
RETURN subject.id AS subject, fact.id AS fact
