// All present and former answers to the question of a fact: the objects of its subject and relation. Walks the facts of each
// subject.
// $as_of: yyyymmdd, $rows: [{subject, fact}]
//   -> fact, id, label, aliases, current: true at $as_of, former: true before, until: last end, 99991231 for one that is not known
// Language: object
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[truth:FACT]->(object:Entity)
WHERE truth.relation = fact.relation
WITH row, object,
     max(CASE WHEN coalesce(truth.from, $as_of) <= $as_of AND coalesce(truth.until, $as_of) >= $as_of AND truth.ended IS NULL
              THEN 1 ELSE 0 END) AS current,
     max(CASE WHEN truth.until < $as_of OR truth.ended THEN 1 ELSE 0 END) AS former,
     max(coalesce(truth.until, 99991231)) AS until
RETURN row.fact AS fact, object.id AS id, coalesce(object.label, '') AS label, coalesce(object.aliases, []) AS aliases,
       current = 1 AS current, former = 1 AS former, until
ORDER BY fact, id
