// Write facts between entities that are there. Rows whose subject or object is missing are left out of the count.
// $rows: [{index, id, subject, object, properties}] -> matched, created: [index]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
MATCH (object:Entity {id: row.object})
MERGE (subject)-[fact:FACT {id: row.id}]->(object)
WITH row, fact, fact.load IS NULL AS created
SET fact += row.properties
RETURN count(*) AS matched, collect(CASE WHEN created THEN row.index END) AS created
