// Write relations. A relation that is used by facts before it has a record is written with its id only. A relation with facts and a
// new label is marked, so that load/relabelled_facts updates its facts.
// $rows: [{id, properties, empty}]; ``empty`` has the properties without a value, which only a new relation gets
//   -> created: the number of new relations; changed: [[name of a changed property]] of each relation that was there
UNWIND $rows AS row
MERGE (relation:Relation {id: row.id})
WITH relation, row, coalesce(relation.label, relation.id) AS before, relation.source IS NULL AS created,
     [name IN keys(row.properties) WHERE name <> 'source'
       AND coalesce(relation[name], '') <> coalesce(row.properties[name], '')] AS changed
SET relation += CASE WHEN created THEN row.empty ELSE {} END
SET relation += row.properties
SET relation.size = coalesce(relation.size, 0), relation.active = coalesce(relation.active, true)
SET relation.relabel = CASE WHEN relation.size > 0 AND coalesce(relation.label, relation.id) <> before THEN true
                            ELSE relation.relabel END
RETURN sum(CASE WHEN created AND relation.source IS NOT NULL THEN 1 ELSE 0 END) AS created,
       collect(CASE WHEN NOT created AND size(changed) > 0 THEN changed END) AS changed
