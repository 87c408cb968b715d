// Write relations. A relation that facts name before anything describes it is written with its id alone. One that has facts and
// another label than before is marked: its facts carry the label, and load/relabelled_facts brings them up to date.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
MERGE (relation:Relation {id: row.id})
WITH relation, row, coalesce(relation.label, relation.id) AS before
SET relation += row.properties
SET relation.size = coalesce(relation.size, 0), relation.active = coalesce(relation.active, true)
SET relation.relabel = CASE WHEN relation.size > 0 AND coalesce(relation.label, relation.id) <> before THEN true
                            ELSE relation.relabel END
