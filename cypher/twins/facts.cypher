// Facts of a relation, ordered by subject; streamed. Seeks in the index of the relations.
// $relation: id -> subject, fact: ids
MATCH (subject:Entity)-[fact:FACT]->(:Entity)
WHERE fact.relation = $relation
RETURN subject.id AS subject, fact.id AS fact
ORDER BY subject, fact
