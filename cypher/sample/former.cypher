// Former objects of a fact's subject and relation, which ended on a known day: candidates for temporal distractors, with both
// intervals. Walks the facts of each subject.
// $rows: [{subject, fact}], $as_of: yyyymmdd
//   -> fact, from, until: of the fact; number: of a former object; former_from, former_until, end: of its interval
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[past:FACT]->(former:Entity)
WHERE past.relation = fact.relation AND past.until < $as_of AND former.number IS NOT NULL
RETURN fact.id AS fact, fact.from AS from, fact.until AS until, former.number AS number,
       past.from AS former_from, past.until AS former_until, past.end AS end
