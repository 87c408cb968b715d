// The ways on from facts, for paths of two facts: the relations by which the object of each has one object. Walks the facts of each
// subject, and those of its object.
// $rows: [{subject, fact}], $relations: [id] of the second facts, $as_of: yyyymmdd
//   -> fact, middles: number of current objects of its subject and relation, relation, second: id of the second fact, answer, label,
//      aliases: of its object, the only current one, joined: number of facts between it and the first fact's subject, of any time and
//      direction
// Language: answer
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(middle:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[same:FACT]->(other:Entity)
WHERE same.relation = fact.relation
  AND coalesce(same.from, $as_of) <= $as_of AND coalesce(same.until, $as_of) >= $as_of AND same.ended IS NULL
WITH subject, fact.id AS fact, middle, count(DISTINCT other) AS middles
MATCH (middle)-[hop:FACT]->(object:Entity)
WHERE hop.relation IN $relations
  AND coalesce(hop.from, $as_of) <= $as_of AND coalesce(hop.until, $as_of) >= $as_of AND hop.ended IS NULL
WITH subject, fact, middles, hop.relation AS relation, min(hop.id) AS second, collect(DISTINCT object) AS objects
WHERE size(objects) = 1
WITH subject, fact, middles, relation, second, objects[0] AS answer
OPTIONAL MATCH (subject)-[joins:FACT]-(answer)
RETURN fact, middles, relation, second, answer.id AS answer, coalesce(answer.label, '') AS label,
       coalesce(answer.aliases, []) AS aliases, count(joins) AS joined
ORDER BY fact, relation
