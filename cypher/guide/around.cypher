// Guide, chapter 2: painted facts of an entity, or of all entities with this name. Only for Neo4j, which has a full-text index.
// For Neo4j Browser: :params {entity: 'France', limit: 100}
// $entity: name, in any case, $limit -> path, id, subject, relation, object, belief, known
CALL db.index.fulltext.queryNodes('entity_names', '"' + replace(replace($entity, '\\', '\\\\'), '"', '\\"') + '"') YIELD node
WITH node
WHERE toLower(node.label) = toLower($entity)
MATCH path = (node)-[f]-(:Entity)
WHERE f.run IS NOT NULL
RETURN path, node.id AS id, startNode(f).label AS subject, f.relation AS relation, endNode(f).label AS object,
       f.belief AS belief, round(1 - f.theta, 2) AS known
ORDER BY id, known, f.fact, f.run
LIMIT toInteger($limit)
