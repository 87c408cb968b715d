// Write relationships of a type with all properties of another graph. A type cannot be a parameter, so that each type has a file.
// $rows: [{from, to, properties}] with ids of the ends -> written
UNWIND $rows AS row
MATCH (s:KgprobeJudgedGraph {id: row.from})
MATCH (o:Relation {id: row.to})
CREATE (s)-[r:JUDGED]->(o)
SET r += row.properties
RETURN count(*) AS written
