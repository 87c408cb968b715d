// Which of the entities with these numbers are distractors of a fact, its Ω(f): they share a type with its object (without
// a type: they are objects of its relation), share no name with it, and are no object of its subject and relation at
// $as_of. Of a fact that has ended by then, nothing that was an object at any time: a sentence in the past does not say when.
// With $refused instead those of the kind that are none, and the first reason for it that applies.
// $as_of: yyyymmdd, $refused: whether, $rows: [{subject, fact, numbers}]
//   -> fact, number, id, label, aliases, object: its label, shared: [id of a type], relation: its label where there is no type,
//      reason: null, or itself, nameless, right, namesake
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
OPTIONAL MATCH (subject)-[truth:FACT]->(known:Entity)
WHERE truth.relation = fact.relation
  AND (fact.until < $as_of OR coalesce(truth.from, $as_of) <= $as_of AND coalesce(truth.until, $as_of) >= $as_of)
WITH row, fact.relation AS asked, object, collect(known.id) AS known
WITH row, asked, object.id AS truth, object.label AS like, known, coalesce(object.types, []) AS types,
     [object.label] + coalesce(object.aliases, []) AS names
UNWIND row.numbers AS number
MATCH (rival:Entity {number: number})
WHERE size(types) = 0 OR any(type IN coalesce(rival.types, []) WHERE type IN types)
WITH row, number, rival, like, types, asked,
     CASE
       WHEN rival.id = truth THEN 'itself'
       WHEN coalesce(rival.label, '') = '' THEN 'nameless'
       WHEN rival.id IN known THEN 'right'
       WHEN rival.label IN names OR any(name IN coalesce(rival.aliases, []) WHERE name IN names) THEN 'namesake'
     END AS reason
WHERE (reason IS NOT NULL) = $refused
OPTIONAL MATCH (rival)-[:OBJECT_OF]->(relation:Relation {id: asked})
WITH row, number, rival, like, types, asked, relation, reason
WHERE size(types) > 0 OR relation IS NOT NULL
RETURN row.fact AS fact, number, rival.id AS id, rival.label AS label, coalesce(rival.aliases, []) AS aliases,
       like AS object, [type IN types WHERE type IN rival.types] AS shared,
       CASE WHEN size(types) = 0 THEN coalesce(relation.label, asked) END AS relation, reason
