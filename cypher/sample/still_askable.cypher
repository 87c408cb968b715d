// Those of some facts that may be asked (current, with a name at both ends), to notice changes by hand of a graph that was read into columns.
// $rows: [{subject, fact}], $as_of: yyyymmdd -> subject, fact
// Language: subject, object
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
  AND subject.label <> '' AND object.label <> ''
RETURN subject.id AS subject, fact.id AS fact
