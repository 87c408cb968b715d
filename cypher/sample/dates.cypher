// Dates of subjects, from a relation to literals. Scans the relation's facts; streamed.
// $relation: its id -> subject, date: the earliest
MATCH (subject:Entity)-[dated:FACT]->(date:Literal)
WHERE dated.relation = $relation
RETURN subject.id AS subject, min(date.value) AS date
