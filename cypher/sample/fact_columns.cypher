// Facts at any time with a subject of a range of numbers and a numbered object, for the columns on disk: few long lists instead of
// many rows.
// $first, $behind: numbers; $always, $forever: in place of a missing date
//   -> in the same order: subjects, objects: numbers, ids, relations, begins, ends: $always for an unknown end
MATCH (entity:Entity)
WHERE $first <= entity.number < $behind
MATCH (entity)-[fact:FACT]->(object:Entity)
WHERE object.number IS NOT NULL
RETURN collect(entity.number) AS subjects, collect(object.number) AS objects, collect(fact.id) AS ids,
       collect(fact.relation) AS relations, collect(coalesce(fact.from, $always)) AS begins,
       collect(CASE WHEN fact.ended THEN $always ELSE coalesce(fact.until, $forever) END) AS ends
