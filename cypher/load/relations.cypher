// Write relations. A relation that facts name before anything describes it is written with its id alone.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
MERGE (relation:Relation {id: row.id})
SET relation += row.properties
SET relation.size = coalesce(relation.size, 0), relation.active = coalesce(relation.active, true)
