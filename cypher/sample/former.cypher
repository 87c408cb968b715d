// Former objects of a fact's subject and relation, other than its own, which ended on a known day: candidates for temporal
// distractors, with both intervals, and the names in an outdated answer. Walks the facts of each subject.
// $rows: [{subject, fact}], $as_of: yyyymmdd
//   -> fact, from, until: of the fact; number, label, aliases: of a former object; former_from, former_until, end: of its interval
// Language: former
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[past:FACT]->(former:Entity)
WHERE past.relation = fact.relation AND past.until < $as_of AND former.id <> object.id
RETURN fact.id AS fact, fact.from AS from, fact.until AS until, former.number AS number, former.label AS label,
       coalesce(former.aliases, []) AS aliases, past.from AS former_from, past.until AS former_until, past.end AS end
