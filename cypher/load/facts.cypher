// Write facts between entities that are there. Rows whose subject or object is missing are left out of the count; a row
// whose id this load already wrote from another line is a duplicate: it changes nothing and is returned. So are facts that
// had another relation before.
// $load, $rows: [{index, id, subject, object, line, properties}]
//   -> matched, created: [index], related: [{index, relation}], duplicates: [{line, id, before}]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
MATCH (object:Entity {id: row.object})
MERGE (subject)-[fact:FACT {id: row.id}]->(object)
WITH row, fact, fact.line AS before, fact.relation AS relation, fact.load IS NULL AS created,
     coalesce(fact.load = $load AND fact.line <> row.line, false) AS duplicate
SET fact += CASE WHEN duplicate THEN {} ELSE row.properties END
RETURN count(*) AS matched,
       collect(CASE WHEN created THEN row.index END) AS created,
       collect(CASE WHEN NOT created AND NOT duplicate AND relation <> row.properties.relation
                    THEN {index: row.index, relation: relation} END) AS related,
       collect(CASE WHEN duplicate THEN {line: row.line, id: row.id, before: before} END) AS duplicates
