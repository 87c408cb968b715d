// Properties of entities.
// For Neo4j Browser: :params {ids: ['Q142', 'Q90']}
// Names: {ids: 'Entity'}
// $ids: [id, or name on Neo4j] -> id, label, aliases, description, types, popularity, value, datatype
UNWIND $ids AS name
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
RETURN e.id AS id, e.label AS label, e.aliases AS aliases, e.description AS description, e.types AS types,
       e.popularity AS popularity, e.value AS value, e.datatype AS datatype
