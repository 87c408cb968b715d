// Hard negatives of a fact among the entities with these numbers: objects that its relation has elsewhere, of the same kind as its
// object (years for a year, literals for a literal), that are not right for its subject. With $before, a date, former objects are
// negatives if they ended before it, on a known day, and the fact itself has not ended by then. Shared names are not tested here, see
// sample/right_names.
// $as_of: yyyymmdd, $before: yyyymmdd or null, $rows: [{subject, fact, numbers}]
//   -> fact, number, id, label, aliases, former: true for a former object
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[truth:FACT]->(known:Entity)
WHERE truth.relation = fact.relation
WITH row, subject.id AS itself, fact.relation AS asked, coalesce(object.datatype, '') AS kind,
     collect(
       CASE
         WHEN $before IS NULL OR fact.until < $before OR fact.ended OR coalesce(truth.until, $before) >= $before
           THEN known.id
       END
     ) AS ids,
     collect(CASE WHEN truth.until < $as_of OR truth.ended THEN known.id END) AS past
UNWIND row.numbers AS number
MATCH (rival:Entity {number: number})
USING INDEX SEEK rival:Entity(number)
MATCH (rival)-[:OBJECT_OF]->(relation:Relation)
WHERE relation.id = asked AND rival.label <> '' AND coalesce(rival.datatype, '') = kind
  AND rival.id <> itself AND NOT rival.id IN ids
RETURN row.fact AS fact, number, rival.id AS id, rival.label AS label, coalesce(rival.aliases, []) AS aliases,
       rival.id IN past AS former
