// Write relations. A relation that is used by facts before it has a record is written with its id only. A relation with facts and a
// new label is marked, so that load/relabelled_facts updates its facts.
// $rows: [{id, properties}] -> no rows
UNWIND $rows AS row
MERGE (relation:Relation {id: row.id})
WITH relation, row, coalesce(relation.label, relation.id) AS before
SET relation += row.properties
SET relation.size = coalesce(relation.size, 0), relation.active = coalesce(relation.active, true)
SET relation.relabel = CASE WHEN relation.size > 0 AND coalesce(relation.label, relation.id) <> before THEN true
                            ELSE relation.relabel END
