// Full-text index of the words in labels and aliases of entities, ignoring case. Only for Neo4j: the full-text index of the embedded
// engine omits entities without aliases.
// no parameters -> no rows
CREATE FULLTEXT INDEX entity_names IF NOT EXISTS FOR (entity:Entity) ON EACH [entity.label, entity.aliases]
