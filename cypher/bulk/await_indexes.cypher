// Wait until all indexes are online, with Neo4j's procedure.
// $seconds -> no rows
CALL db.awaitIndexes($seconds)
