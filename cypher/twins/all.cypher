// All twins, ordered by subject; streamed. Scans the relationships between entities: Neo4j finds none by a type that is a parameter.
// $types -> subject, fact: ids
MATCH (subject:Entity)-[twin]->(:Entity)
WHERE type(twin) IN $types AND twin.fact IS NOT NULL
RETURN subject.id AS subject, twin.fact AS fact
ORDER BY subject, fact
