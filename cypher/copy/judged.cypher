// Write relationships of a type as they are in another graph. A type cannot be a parameter, so each has a file.
// $rows: [{from, to, properties}], the ends' ids -> written
UNWIND $rows AS row
MATCH (s:Sweep {id: row.from})
MATCH (o:Relation {id: row.to})
CREATE (s)-[r:JUDGED]->(o)
SET r += row.properties
RETURN count(*) AS written
