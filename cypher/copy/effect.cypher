// Write nodes of a kind with all properties of another graph. A label cannot be a parameter, so that each kind has a file.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
MERGE (n:KgprobeEffect {id: row.id})
SET n += row.properties
