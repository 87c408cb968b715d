// Names that no distractor or negative of a fact may have: those of its object, of all objects that are right for its subject and
// relation, or of those that ever were. Right are, without $before, the objects of any time; else those that did not end on a known
// day before it, and all if the fact itself has ended by then.
// $before: yyyymmdd or null, $of: object, right or ever, $rows: [{subject, fact}] -> fact, names: of one object, the label first
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[truth:FACT]->(known:Entity)
WHERE truth.relation = fact.relation
  AND (known.id = object.id OR $of = 'ever'
       OR ($of = 'right'
           AND ($before IS NULL OR fact.until < $before OR fact.ended OR coalesce(truth.until, $before) >= $before)))
RETURN DISTINCT row.fact AS fact, [known.label] + coalesce(known.aliases, []) AS names
