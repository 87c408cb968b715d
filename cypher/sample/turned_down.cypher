// Which of the entities with these numbers are no distractors of a fact, although they are of the kind, and the first
// reason for it that applies.
// $subject, $fact: ids, $numbers: [number], $as_of: yyyymmdd -> reason (itself, nameless, right, namesake), count
MATCH (subject:Entity {id: $subject})-[fact:FACT {id: $fact}]->(object:Entity)
OPTIONAL MATCH (subject)-[truth:FACT]->(known:Entity)
WHERE truth.relation = fact.relation
  AND (fact.until < $as_of OR coalesce(truth.from, $as_of) <= $as_of AND coalesce(truth.until, $as_of) >= $as_of)
WITH object, collect(known.id) AS known
WITH known, object.id AS itself, [object.label] + coalesce(object.aliases, []) AS names
UNWIND $numbers AS number
MATCH (rival:Entity {number: number})
WITH CASE
       WHEN rival.id = itself THEN 'itself'
       WHEN coalesce(rival.label, '') = '' THEN 'nameless'
       WHEN rival.id IN known THEN 'right'
       WHEN rival.label IN names OR any(name IN coalesce(rival.aliases, []) WHERE name IN names) THEN 'namesake'
     END AS reason
WHERE reason IS NOT NULL
RETURN reason, count(*) AS count
