// Write relationships of a type with all properties of another graph. A type cannot be a parameter, so that each type has a file.
// $rows: [{from, to, properties}] with ids of the ends -> written
UNWIND $rows AS row
MATCH (s:Belief {id: row.from})
MATCH (o:Entity {id: row.to})
CREATE (s)-[r:ABOUT]->(o)
SET r += row.properties
RETURN count(*) AS written
