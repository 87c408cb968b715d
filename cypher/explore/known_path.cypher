// The shortest way between two entities through facts that a run surely knows, whichever way they point: what `kgprobe beliefs
// paint` drew as KNOWN or LEARNED. No row where there is none of eight facts or fewer.
// For Neo4j Browser: :params {one: 'France', other: 'Japan'}
// Unless given: {}
// Scans the entities for the labels, and walks what was painted. $one, $other: id or label
//   -> facts: how many, entities, relations, path
CALL () {
  MATCH (e:Entity {id: $one})
  RETURN e AS a
  UNION
  MATCH (e:Entity)
  WHERE e.label = $one
  RETURN e AS a
}
CALL () {
  MATCH (e:Entity {id: $other})
  RETURN e AS b
  UNION
  MATCH (e:Entity)
  WHERE e.label = $other
  RETURN e AS b
}
MATCH path = shortestPath((a)-[:KNOWN|LEARNED*1..8]-(b))
RETURN length(path) AS facts, [e IN nodes(path) | e.label] AS entities, [r IN relationships(path) | r.relation] AS relations, path
ORDER BY facts, entities
LIMIT 1
