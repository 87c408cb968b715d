// Properties of entities.
// For Neo4j Browser: :params {ids: ['Q142', 'Q90']}
// Names: {ids: 'Entity'}
// $ids: [id] -> id, label, aliases, description, types, popularity, value, datatype
UNWIND $ids AS id
MATCH (e:Entity {id: id})
USING INDEX SEEK e:Entity(id)
RETURN e.id AS id, e.label AS label, e.aliases AS aliases, e.description AS description, e.types AS types,
       e.popularity AS popularity, e.value AS value, e.datatype AS datatype
