// Entities with these numbers whose path of two relations leads through another middle to another answer: each has one current object
// by the first relation, which is not $rows.middle and has objects by the second, none of them $rows.answer at any time; no fact joins
// the entity to that answer. Walks the facts of each entity, and those of its object.
// $rows: [{index, relation, next: id of the second relation, middle, answer, numbers}], $as_of: yyyymmdd
//   -> index, number, id, label, middle, middle_label
// Language: entity, middle
UNWIND $rows AS row
UNWIND row.numbers AS number
MATCH (entity:Entity {number: number})
USING INDEX SEEK entity:Entity(number)
MATCH (entity)-[first:FACT]->(middle:Entity)
WHERE first.relation = row.relation
  AND coalesce(first.from, $as_of) <= $as_of AND coalesce(first.until, $as_of) >= $as_of AND first.ended IS NULL
WITH row, number, entity, collect(DISTINCT middle) AS middles
WHERE size(middles) = 1 AND coalesce(entity.label, '') <> ''
WITH row, number, entity, middles[0] AS middle
WHERE middle.id <> row.middle
MATCH (middle)-[second:FACT]->(answer:Entity)
WHERE second.relation = row.next
WITH row, number, entity, middle, collect(DISTINCT answer.id) AS answers
WHERE NOT row.answer IN answers
OPTIONAL MATCH (entity)-[joins:FACT]->(joined:Entity {id: row.answer})
WITH row, number, entity, middle, count(joins) AS joined
WHERE joined = 0
RETURN row.index AS index, number, entity.id AS id, entity.label AS label, middle.id AS middle,
       coalesce(middle.label, '') AS middle_label
ORDER BY index, number
