// Facts that can be few-shot examples of their relations: current at a date, with a name at both ends. Scans the graph; read once
// for each measurement or run, streamed.
// $relations: [id], $as_of: yyyymmdd -> relation, subject, fact
// Language: subject, object
MATCH (subject:Entity)-[fact:FACT]->(object:Entity)
WHERE fact.relation IN $relations
  AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
  AND subject.label <> '' AND object.label <> ''
RETURN fact.relation AS relation, subject.id AS subject, fact.id AS fact
