// Write entities with another label as they are in another graph. A label cannot be a parameter, so each has a file. What is there
// is left: the embedded engine makes a node with all of its labels, or not at all.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
OPTIONAL MATCH (there:Entity {id: row.id})
WITH row, there
WHERE there IS NULL
CREATE (n:Entity:Literal:Type {id: row.id})
SET n += row.properties
