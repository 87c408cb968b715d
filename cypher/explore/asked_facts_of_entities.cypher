// Facts of entities that a run has asked, those that the model least probably knows first; columns as in facts_of_entities.
// For Neo4j Browser: :params {run: 'base', entities: ['Q142'], relations: [], as_of: null, limit: 100}
// Unless given: {relations: [], as_of: null, limit: 100}
// Names: {run: 'Run', entities: 'Entity', relations: 'Relation'}
// Reads all facts of the entities. $run: id of a run, $entities: [id, or name on Neo4j], $relations: [id], none for all, $as_of: yyyymmdd at which the facts
// hold, null for any time, $limit
//   -> fact, subject, subject_label, relation, relation_label, object, object_label, start, end, rank
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
WHERE (size($relations) = 0 OR f.relation IN $relations)
  AND ($as_of IS NULL OR coalesce(f.from, $as_of) <= $as_of AND coalesce(f.until, $as_of) >= $as_of AND f.ended IS NULL)
WITH DISTINCT f
MATCH (belief:Belief {id: $run + '/' + f.id})
USING INDEX SEEK belief:Belief(id)
WHERE belief.right + belief.wrong > 0
WITH belief, startNode(f) AS s, f, endNode(f) AS o
ORDER BY belief.low DESC, belief.fact
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: f.relation})
RETURN f.id AS fact, s.id AS subject, s.label AS subject_label, f.relation AS relation, r.label AS relation_label,
       o.id AS object, o.label AS object_label, f.start AS start, f.end AS end,
       coalesce(f.rank, 'normal') AS rank
ORDER BY belief.low DESC, belief.fact
