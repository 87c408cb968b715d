// Write entities, and number new ones from the counter. A row whose id this load wrote from another line is a duplicate: it changes
// nothing and is returned.
// $load, $rows: [{index, id, line, properties}]
//   -> duplicates: [{id, before}] with their first line; standing: [id] of existing entities with the same types; retyped: [{id,
//      types}] with the former types of existing entities with other types
MERGE (counter:KgprobeCounter {id: 'entities'})
SET counter.next = coalesce(counter.next, 0)
WITH counter, counter.next AS base
UNWIND $rows AS row
MERGE (entity:Entity {id: row.id})
WITH counter, base, row, entity, entity.line AS before, entity.types AS types,
     coalesce(entity.load = $load AND entity.line <> row.line, false) AS duplicate
SET entity += CASE WHEN duplicate THEN {} ELSE row.properties END
SET entity.number = coalesce(entity.number, base + row.index)
WITH counter, base,
     max(CASE WHEN entity.number = base + row.index THEN row.index + 1 ELSE 0 END) AS used,
     collect(CASE WHEN NOT duplicate AND types = row.properties.types THEN row.id END) AS standing,
     collect(CASE WHEN NOT duplicate AND types <> row.properties.types THEN {id: row.id, types: types} END) AS retyped,
     collect(CASE WHEN duplicate THEN {id: row.id, before: before} END) AS duplicates
SET counter.next = base + used
RETURN duplicates, standing, retyped
