// Write relationships of a type with all properties of another graph. A type cannot be a parameter, so that each type has a file.
// $rows: [{from, to, properties}] with ids of the ends -> written
UNWIND $rows AS row
MATCH (s:Entity {id: row.from})
USING INDEX SEEK s:Entity(id)
MATCH (o:Entity {id: row.to})
USING INDEX SEEK o:Entity(id)
CREATE (s)-[r:LEARNED]->(o)
SET r += row.properties
RETURN count(*) AS written
