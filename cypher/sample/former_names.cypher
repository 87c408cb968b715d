// Names of the former objects of a fact's subject and relation, which ended on a known day: the names in an outdated answer. Walks
// the facts of each subject.
// $rows: [{subject, fact}], $as_of: yyyymmdd -> fact, label, aliases, until: yyyymmdd
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[past:FACT]->(former:Entity)
WHERE past.relation = fact.relation AND past.until < $as_of AND former.id <> object.id
RETURN fact.id AS fact, former.label AS label, coalesce(former.aliases, []) AS aliases, past.until AS until
ORDER BY fact, until DESC, label
