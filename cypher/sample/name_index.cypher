// Check for the full-text index of names: a row if it is online. Only for Neo4j.
// no parameters -> name
SHOW FULLTEXT INDEXES YIELD name, state
WHERE name = 'entity_names' AND state = 'ONLINE'
RETURN name
