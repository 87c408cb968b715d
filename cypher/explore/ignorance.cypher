// Communities of ignorance: connected facts that the model of the run in view surely does not know. Starts at the entities with most
// of these facts, with them and those one step farther, least known first. `kgprobe graph communities` finds communities of all
// unknown facts.
// For Neo4j Browser: :params {communities: 3, limit: 100}
// Unless given: {communities: 3, limit: 100}
// Reads the facts that are less probably known than not, by the index of theta, and the facts of $communities entities and of their
// neighbours with 1,000 facts or fewer, for at most $limit first steps of each. $communities, $limit: paths of each
//   -> run, entity: id of the centre, centre, unknown: facts at it, steps, entities, relations, each_known, path
MATCH (begun:Run)
WHERE begun.inView
WITH begun
LIMIT 1
MATCH (s)-[f:FACT]->(o)
USING INDEX f:FACT(theta)
WHERE f.theta > 0.5 AND f.belief = 'surely unknown'
WITH begun, CASE WHEN s.id = o.id THEN [s] ELSE [s, o] END AS ends
UNWIND ends AS centre
WITH begun, centre, count(*) AS unknown
ORDER BY unknown DESC, centre.id
LIMIT toInteger($communities)
CALL (centre) {
  MATCH (centre)-[first:FACT]-(near:Entity)
  WHERE first.belief = 'surely unknown'
  WITH centre, first, near
  ORDER BY first.theta DESC, first.id
  LIMIT toInteger($limit)
  CALL (centre, first, near) {
    MATCH path = (centre)-[:FACT {id: first.id}]-(near)
    RETURN path, 0.0 AS theta, '' AS farther
    UNION ALL
    WITH centre, first, near
    WHERE near.degree <= 1000 AND near.id <> centre.id
    MATCH path = (centre)-[:FACT {id: first.id}]-(near)-[second:FACT]-(:Entity)
    WHERE second.belief = 'surely unknown'
    RETURN path, second.theta AS theta, second.id AS farther
  }
  WITH path, first, theta, farther
  ORDER BY length(path), first.theta DESC, first.id, theta DESC, farther
  LIMIT toInteger($limit)
  RETURN path
}
WITH begun, centre, unknown, path, length(path) AS steps, [fact IN relationships(path) | 1 - fact.theta] AS each_known,
     [fact IN relationships(path) | fact.id] AS facts
RETURN begun.id AS run, centre.id AS entity, centre.label AS centre, unknown, steps, [e IN nodes(path) | e.label] AS entities,
       [fact IN relationships(path) | fact.relation_label] AS relations, each_known, path
ORDER BY unknown DESC, entity, steps, each_known, facts
