// Write entities, and number new ones from the counter. A row whose id this load wrote from another line is a duplicate: it changes
// nothing and is returned.
// $load, $rows: [{index, id, line, properties, empty}]; ``empty`` has the properties without a value, which only a new entity gets
//   -> duplicates: [{id, before}] with their first line; standing: [id] of existing entities with the same types; retyped: [{id,
//      types}] with the former types of existing entities with other types; created, changed: numbers of entities
MERGE (counter:KgprobeCounter {id: 'entities'})
SET counter.next = coalesce(counter.next, 0)
WITH counter, counter.next AS base
UNWIND $rows AS row
MERGE (entity:Entity {id: row.id})
WITH counter, base, row, entity, entity.line AS before, entity.types AS types, entity.load IS NULL AS created,
     coalesce(entity.load = $load AND entity.line <> row.line, false) AS duplicate,
     any(name IN keys(row.properties) WHERE NOT name IN ['source', 'load', 'line']
       AND coalesce(entity[name], '') <> coalesce(row.properties[name], '')) AS differs
SET entity += CASE WHEN created THEN row.empty ELSE {} END
SET entity += CASE WHEN duplicate THEN {} ELSE row.properties END
SET entity.number = coalesce(entity.number, base + row.index)
WITH counter, base,
     max(CASE WHEN entity.number = base + row.index THEN row.index + 1 ELSE 0 END) AS used,
     collect(CASE WHEN NOT duplicate AND types = row.properties.types THEN row.id END) AS standing,
     collect(CASE WHEN NOT duplicate AND types <> row.properties.types THEN {id: row.id, types: types} END) AS retyped,
     collect(CASE WHEN duplicate THEN {id: row.id, before: before} END) AS duplicates,
     sum(CASE WHEN created THEN 1 ELSE 0 END) AS created,
     sum(CASE WHEN NOT created AND NOT duplicate AND differs THEN 1 ELSE 0 END) AS changed
SET counter.next = base + used
RETURN duplicates, standing, retyped, created, changed
