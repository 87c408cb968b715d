// Write entities, and number the new ones on from the counter. A row whose id this load already wrote from another
// line is a duplicate: it changes nothing and is returned. Entities that had other types before are returned too.
// $load, $rows: [{index, id, line, properties}] -> duplicates: [{line, id, before}], retyped: [id]
MERGE (counter:Counter {id: 'entities'})
SET counter.next = coalesce(counter.next, 0)
WITH counter, counter.next AS base
UNWIND $rows AS row
MERGE (entity:Entity {id: row.id})
WITH counter, base, row, entity, entity.line AS before,
     coalesce(entity.types <> row.properties.types, false) AS retyped,
     coalesce(entity.load = $load AND entity.line <> row.line, false) AS duplicate
SET entity += CASE WHEN duplicate THEN {} ELSE row.properties END
SET entity.number = coalesce(entity.number, base + row.index)
WITH counter, base,
     max(CASE WHEN entity.number = base + row.index THEN row.index + 1 ELSE 0 END) AS used,
     collect(CASE WHEN retyped AND NOT duplicate THEN row.id END) AS retyped,
     collect(CASE WHEN duplicate THEN {line: row.line, id: row.id, before: before} END) AS duplicates
SET counter.next = base + used
RETURN duplicates, retyped
