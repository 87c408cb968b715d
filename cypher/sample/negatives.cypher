// Which of the entities with these numbers are hard negatives of a fact: objects that its relation has elsewhere, of the same
// kind as its object (a year beside a year; what is no literal beside what is none), and that are not true of its subject, nor
// share a name with anything that is. What was true of it is one only if it ended before $as_of, on a day that is known.
// $as_of: yyyymmdd, $rows: [{subject, fact, numbers}] -> fact, number, id, label, aliases, former: whether it was true before
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[truth:FACT]->(known:Entity)
WHERE truth.relation = fact.relation
WITH row, subject.id AS itself, fact.relation AS asked, coalesce(object.datatype, '') AS kind,
     collect(CASE WHEN truth.until < $as_of AND truth.end <> 'unknown' THEN NULL ELSE known END) AS true_ones,
     collect(CASE WHEN truth.until < $as_of THEN known.id END) AS past
WITH row, itself, asked, kind, past, [one IN true_ones | one.id] AS ids,
     reduce(names = [], one IN true_ones | names + [one.label] + coalesce(one.aliases, [])) AS names
UNWIND row.numbers AS number
MATCH (rival:Entity {number: number})
USING INDEX SEEK rival:Entity(number)
MATCH (rival)-[:OBJECT_OF]->(relation:Relation)
WHERE relation.id = asked AND rival.label <> '' AND coalesce(rival.datatype, '') = kind
  AND rival.id <> itself AND NOT rival.id IN ids
  AND NOT rival.label IN names AND none(name IN coalesce(rival.aliases, []) WHERE name IN names)
RETURN row.fact AS fact, number, rival.id AS id, rival.label AS label, coalesce(rival.aliases, []) AS aliases,
       rival.id IN past AS former
