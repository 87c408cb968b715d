// Wait until all indexes can be used. Neo4j's own procedure.
// $seconds -> no rows
CALL db.awaitIndexes($seconds)
