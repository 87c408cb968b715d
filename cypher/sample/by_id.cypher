// Subjects of the facts with an id. Scans the facts of the graph.
// $fact: an id -> subject, fact
MATCH (subject:Entity)-[fact:FACT {id: $fact}]->(:Entity)
RETURN subject.id AS subject, fact.id AS fact
ORDER BY subject
