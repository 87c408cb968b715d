// Facts that may be asked (current, with a name at both ends) whose subject had another object of the relation until a known day before the date:
// candidates for facts with a former object among their distractors. Scans the graph from its ended facts on; streamed.
// $relations: [id], $as_of: yyyymmdd -> subject, fact
// Language: subject, object
MATCH (subject:Entity)-[past:FACT]->(former:Entity)
WHERE past.relation IN $relations AND past.until < $as_of AND former.number IS NOT NULL
  AND subject.label <> ''
WITH DISTINCT subject, past.relation AS relation
MATCH (subject)-[fact:FACT]->(object:Entity)
WHERE fact.relation = relation
  AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
  AND object.label <> ''
RETURN subject.id AS subject, fact.id AS fact
