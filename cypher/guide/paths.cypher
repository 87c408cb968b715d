// Guide, chapter 4: a shortest path between two entities through painted facts that a model knows. Walks these relationships.
// For Neo4j Browser: :params {one: 'France', other: 'Japan'}
// $one, $other: labels -> path, facts, entities
MATCH (a:Entity {label: $one})
MATCH (b:Entity {label: $other})
WHERE a <> b
MATCH path = shortestPath((a)-[:KNOWN|LEANS_KNOWN|LEARNED*..8]-(b))
RETURN path, length(path) AS facts, [e IN nodes(path) | e.label] AS entities
ORDER BY facts
