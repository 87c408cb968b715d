// Entities of the same kind as a fact's object among those with these numbers: they share a type with it; without a type, they are
// objects of its relation. Distractors, Ω(f), have no reason against them: they have a label and were never an object of the fact's
// subject and relation. With $before, a date, for sentences in the present tense: also objects that were right until a known day
// before it, unless the fact itself has ended by then. Shared names are not tested here, as Cypher has no case folding: see
// sample/right_names.
// $before: yyyymmdd or null, $rows: [{subject, fact, numbers}]
//   -> fact, number, id, label, aliases, object: its label, shared: [id of a type], relation: its label without a type, former:
//      true for a former object, reason: null, or itself, nameless, right
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
OPTIONAL MATCH (subject)-[truth:FACT]->(known:Entity)
WHERE truth.relation = fact.relation
WITH row, fact.relation AS asked, object, collect(known) AS ever,
     collect(
       CASE
         WHEN $before IS NULL OR fact.until < $before OR fact.ended OR coalesce(truth.until, $before) >= $before
           THEN known.id
       END
     ) AS known
WITH row, asked, object.id AS truth, object.label AS like, known, [one IN ever | one.id] AS ever,
     coalesce(object.types, []) AS types
UNWIND row.numbers AS number
MATCH (rival:Entity {number: number})
USING INDEX SEEK rival:Entity(number)
WHERE size(types) = 0 OR any(type IN coalesce(rival.types, []) WHERE type IN types)
WITH row, number, rival, like, types, asked, rival.id IN ever AS held,
     CASE
       WHEN rival.id = truth THEN 'itself'
       WHEN coalesce(rival.label, '') = '' THEN 'nameless'
       WHEN rival.id IN known THEN 'right'
     END AS reason
OPTIONAL MATCH (rival)-[:OBJECT_OF]->(relation:Relation {id: asked})
WITH row, number, rival, like, types, asked, held, relation, reason
WHERE size(types) > 0 OR relation IS NOT NULL
RETURN row.fact AS fact, number, rival.id AS id, rival.label AS label, coalesce(rival.aliases, []) AS aliases,
       like AS object, [type IN types WHERE type IN rival.types] AS shared,
       CASE WHEN size(types) = 0 THEN coalesce(relation.label, asked) END AS relation, reason IS NULL AND held AS former, reason
