// The ways on from facts: what the object of each has by other relations, for paths of two facts. Walks the facts of each subject,
// and those of its object.
// $rows: [{subject, fact}], $relations: [id] of the second facts, $as_of: yyyymmdd
//   -> fact, middles: number of current objects of its subject and relation, relation, answers: number of current objects of the
//      fact's object and this relation, second: id of such a fact, answer, label, aliases: of such an object; joined: number of facts
//      between it and the fact's subject, of any time and direction; a fact without a way on has one row, with a null relation
// Language: answer
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(middle:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[same:FACT]->(other:Entity)
WHERE same.relation = fact.relation
  AND coalesce(same.from, $as_of) <= $as_of AND coalesce(same.until, $as_of) >= $as_of AND same.ended IS NULL
WITH subject, fact.id AS fact, middle, count(DISTINCT other) AS middles
OPTIONAL MATCH (middle)-[second:FACT]->(answer:Entity)
WHERE second.relation IN $relations
  AND coalesce(second.from, $as_of) <= $as_of AND coalesce(second.until, $as_of) >= $as_of AND second.ended IS NULL
WITH subject, fact, middles, second.relation AS relation, count(DISTINCT answer) AS answers, min(second.id) AS second,
     collect(DISTINCT answer) AS all
WITH subject, fact, middles, relation, answers, second, CASE WHEN answers = 1 THEN all[0] ELSE NULL END AS answer
OPTIONAL MATCH (subject)-[joins:FACT]-(answer)
RETURN fact, middles, relation, answers, second, answer.id AS answer, coalesce(answer.label, '') AS label,
       coalesce(answer.aliases, []) AS aliases, count(joins) AS joined
ORDER BY fact, relation
