// Write nodes of a kind as they are in another graph. A label cannot be a parameter, so each has a file.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
MERGE (n:Relation {id: row.id})
SET n += row.properties
