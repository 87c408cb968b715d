// Write entities with another label with all properties of another graph. A label cannot be a parameter, so that each label has a
// file. Existing nodes are kept: the embedded engine sets labels only when it creates a node.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
OPTIONAL MATCH (there:Entity {id: row.id})
WITH row, there
WHERE there IS NULL
CREATE (n:Entity:Type {id: row.id})
SET n += row.properties
