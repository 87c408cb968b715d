// Chains of two facts, the object of the first being the subject of the second, both of which the model of the run in view knows:
// it has the parts of a two-hop question. With $known: 1, chains of which it knows one fact and not the other. Asked facts only.
// Chains with the best known weaker fact are first; with $known: 1, those with the greatest difference.
// For Neo4j Browser: :params {entity: null, known: 2, candidates: 1000, limit: 25}
// Unless given: {entity: null, known: 2, candidates: 1000, limit: 25}
// Names: {entity: 'Entity'}
// Reads the facts of the entity as a subject, and those of their objects as subjects; without an entity, begins with the $candidates
// best known facts, by the index of theta, with $known: 1 also with as many least known ones. $entity: id, or name on Neo4j, null
// for all, $known: number of known facts, 1 or 2, $candidates, $limit
//   -> run, entity: id of the first subject, subject, relation, middle, next_relation, object, known: of the less known fact,
//      first_known, second_known, first, second: facts, path
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
    WHERE fact.theta < 0.5 AND fact.belief IN ['surely known', 'leans known']
    RETURN fact AS first
    ORDER BY fact.theta
    LIMIT toInteger($candidates)
  }
  RETURN first
  UNION
  UNWIND CASE WHEN $entity IS NULL AND $known = 1 THEN [1] ELSE [] END AS every
  CALL () {
    MATCH ()-[fact:FACT]->()
    USING INDEX fact:FACT(theta)
    WHERE fact.theta > 0.5 AND fact.belief IN ['surely unknown', 'leans unknown']
    RETURN fact AS first
    ORDER BY fact.theta DESC
    LIMIT toInteger($candidates)
  }
  RETURN first
  UNION
  UNWIND entities AS e
  MATCH (e)-[first:FACT]->(:Entity)
  WHERE first.asked
  RETURN first
}
WITH begun, first, startNode(first) AS s, endNode(first) AS middle
WHERE s.id <> middle.id
WITH begun, middle, collect({fact: first, id: first.id, s: s, subject: s.id, known: 1 - first.theta,
                             knows: first.belief IN ['surely known', 'leans known']}) AS firsts
MATCH (middle)-[second:FACT]->(o:Entity)
WHERE second.asked AND o.id <> middle.id
WITH begun, firsts, middle, second, o, second.id AS second_id, o.id AS object, 1 - second.theta AS second_known,
     second.belief IN ['surely known', 'leans known'] AS knows_second
UNWIND firsts AS hop
WITH begun, hop, middle, second, o, second_id, object, hop.known AS first_known, second_known, hop.knows AS knows_first, knows_second
WHERE object <> hop.subject AND CASE WHEN $known = 1 THEN knows_first <> knows_second ELSE knows_first AND knows_second END
WITH begun, hop, middle, second, o, second_id, first_known, second_known,
     CASE WHEN first_known < second_known THEN first_known ELSE second_known END AS known,
     CASE WHEN $known = 1 THEN abs(first_known - second_known) ELSE 0.0 END AS difference
ORDER BY difference DESC, known DESC, hop.id, second_id
LIMIT toInteger($limit)
WITH begun, hop.fact AS first, hop.s AS s, middle, second, o, known, first_known, second_known
MATCH path = (s)-[:FACT {id: first.id}]->(middle)-[:FACT {id: second.id}]->(o)
RETURN begun.id AS run, s.id AS entity, s.label AS subject, first.relation_label AS relation, middle.label AS middle,
       second.relation_label AS next_relation, o.label AS object, known, first_known, second_known, first.id AS first,
       second.id AS second, path
ORDER BY CASE WHEN $known = 1 THEN abs(first_known - second_known) ELSE 0.0 END DESC, known DESC, first, second
