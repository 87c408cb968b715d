// What stands in the graph otherwise than a batch is about to write it: facts with another object or relation, and
// duplicates, which this load already wrote from another line. A row whose object is missing has nothing to replace and
// is left out. Walks the facts of each subject, once.
// $load, $rows: [{subject, facts: {id: {object, relation, line}}}], each subject once
//   -> id, subject, object, relation, line: of the fact that stands; duplicate
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(object:Entity)
WITH subject, fact, object, row.facts[fact.id] AS now
WHERE now IS NOT NULL
WITH subject, fact, object, now, coalesce(fact.load = $load AND fact.line <> now.line, false) AS duplicate
WHERE duplicate OR object.id <> now.object OR fact.relation <> now.relation
MATCH (:Entity {id: now.object})
RETURN fact.id AS id, subject.id AS subject, object.id AS object, fact.relation AS relation, fact.line AS line, duplicate
