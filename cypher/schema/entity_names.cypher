// Entities are found by any word of their labels and aliases, whatever its capitals. Neo4j alone: the full-text index of the
// embedded engine leaves out entities without aliases.
// no parameters -> no rows
CREATE FULLTEXT INDEX entity_names IF NOT EXISTS FOR (entity:Entity) ON EACH [entity.label, entity.aliases]
