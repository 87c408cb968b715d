// Facts to put into a prompt about these entities: facts that the model of the run in view does not know, least known first. Of
// asked facts those that it surely does not know or that lean to unknown; with $known also others, which it knows with a
// probability below it: ask these before you rely on them.
// For Neo4j Browser: :params {entities: ['France', 'Q183'], known: 0, limit: 50}
// Unless given: {known: 0, limit: 50}
// Names: {entities: 'Entity'}
// Reads all facts of the entities. $entities: ids, or names on Neo4j, $known: between 0, for asked facts only, and 1, $limit
//   -> run, subject, relation, object, start, end, known, belief, subject_id, object_id, fact, path
MATCH (begun:Run)
WHERE begun.inView
WITH begun
LIMIT 1
UNWIND $entities AS name
OPTIONAL MATCH (same:Entity {id: name})
CALL (name, same) {
  WITH same
  WHERE same IS NOT NULL
  RETURN same AS e
  UNION
  WITH name, same
  WHERE same IS NULL AND name IS NOT NULL
  CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace(name, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
  WITH name, node
  WHERE toLower(node.label) = toLower(name) OR any(alias IN coalesce(node.aliases, []) WHERE toLower(alias) = toLower(name))
  RETURN node AS e
}
MATCH (e)-[f:FACT]-(:Entity)
WHERE f.belief IN ['surely unknown', 'leans unknown'] OR f.belief = 'not asked' AND 1 - f.theta < $known
WITH DISTINCT begun, f
ORDER BY f.theta DESC, f.id
LIMIT toInteger($limit)
MATCH path = (s:Entity)-[f]->(o:Entity)
RETURN begun.id AS run, s.label AS subject, f.relation_label AS relation, o.label AS object, f.start AS start, f.end AS end,
       1 - f.theta AS known, f.belief AS belief, s.id AS subject_id, o.id AS object_id, f.id AS fact, path
ORDER BY known, fact
