// Frontier of the knowledge of the model of the run in view: facts that it does not know, least known first, next to facts that it
// surely knows, with the same subject or object. With $expected: true, also unasked facts that it is expected not to know.
// For Neo4j Browser: :params {entity: null, expected: false, candidates: 200, limit: 25}
// Unless given: {entity: null, expected: false, candidates: 200, limit: 25}
// Names: {entity: 'Entity'}
// Reads the facts of the entity; without one, facts that are less probably known than not, by the index of theta, until there are
// $candidates. Reads the facts of their ends with 1,000 facts or fewer. $entity: id of an end, or name on Neo4j, null for all,
// $expected, $candidates, $limit
//   -> run, entity: id of the shared entity, relation, subject, object, known, belief, shared: its label, surely_known: number of
//      surely known facts at it, next_relation, next_entity: of the best known one, next_known, fact, next: fact, path
OPTIONAL MATCH (same:Entity {id: $entity})
CALL (same) {
  WITH same
  WHERE same IS NOT NULL
  RETURN same AS e
  UNION
  WITH same
  WHERE same IS NULL AND $entity IS NOT NULL
  CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace($entity, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
  WITH node
  WHERE toLower(node.label) = toLower($entity) OR any(alias IN coalesce(node.aliases, []) WHERE toLower(alias) = toLower($entity))
  RETURN node AS e
}
WITH collect(DISTINCT e) AS entities
MATCH (begun:Run)
WHERE begun.inView
WITH entities, begun
LIMIT 1
CALL (entities) {
  UNWIND CASE WHEN $entity IS NULL THEN [1] ELSE [] END AS every
  CALL () {
    MATCH ()-[fact:FACT]->()
    USING INDEX fact:FACT(theta)
    WHERE fact.theta > 0.5 AND (fact.belief IN ['surely unknown', 'leans unknown'] OR $expected AND fact.belief = 'not asked')
    RETURN fact AS f
    ORDER BY fact.theta DESC
    LIMIT toInteger($candidates)
  }
  RETURN f
  UNION
  UNWIND entities AS e
  MATCH (e)-[f:FACT]-(:Entity)
  WHERE f.theta > 0.5 AND (f.belief IN ['surely unknown', 'leans unknown'] OR $expected AND f.belief = 'not asked')
  WITH f
  ORDER BY f.theta DESC
  LIMIT toInteger($candidates)
  RETURN f
}
WITH begun, f, [startNode(f), endNode(f)] AS ends
UNWIND ends AS shared
WITH begun, shared, collect(DISTINCT f) AS unknown
WHERE shared.degree <= 1000
CALL (shared) {
  MATCH (shared)-[next:FACT]-(:Entity)
  WHERE next.belief = 'surely known'
  WITH next
  ORDER BY next.theta, next.id
  RETURN count(*) AS surely_known, head(collect(next)) AS next
}
WITH begun, shared, unknown, surely_known, next
WHERE surely_known > 0
UNWIND unknown AS f
WITH begun, f, shared, surely_known, next
ORDER BY surely_known DESC, shared.id
WITH begun, f, head(collect({shared: shared, surely_known: surely_known, next: next})) AS best
WITH begun, f, best.shared AS shared, best.surely_known AS surely_known, best.next AS next
ORDER BY f.theta DESC, f.id
LIMIT toInteger($limit)
WITH begun, f, shared, surely_known, next, startNode(f) AS s, endNode(f) AS o,
     CASE WHEN startNode(next).id = shared.id THEN endNode(next) ELSE startNode(next) END AS other,
     CASE WHEN startNode(f).id = shared.id THEN endNode(f) ELSE startNode(f) END AS far
MATCH path = (far)-[:FACT {id: f.id}]-(shared)-[:FACT {id: next.id}]-(other)
RETURN begun.id AS run, shared.id AS entity, f.relation_label AS relation, s.label AS subject, o.label AS object,
       1 - f.theta AS known, f.belief AS belief, shared.label AS shared, surely_known, next.relation_label AS next_relation,
       other.label AS next_entity, 1 - next.theta AS next_known, f.id AS fact, next.id AS next, path
ORDER BY known, fact
