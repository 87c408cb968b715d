// Dates of subjects, from relations to literals. Scans the facts with literals once; streamed.
// $relations: their ids -> subject, relation, date: the earliest
MATCH (subject:Entity)-[dated:FACT]->(date:Literal)
WHERE dated.relation IN $relations
RETURN subject.id AS subject, dated.relation AS relation, min(date.value) AS date
