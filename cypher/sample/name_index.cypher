// Whether the full-text index of the entities' names can be used: a row if it can. Neo4j's own command.
// no parameters -> name
SHOW FULLTEXT INDEXES YIELD name, state
WHERE name = 'entity_names' AND state = 'ONLINE'
RETURN name
