// Mark an import as finished, like a load.
// $id, $created: [relations, entities, facts], $time -> no rows
MATCH (load:KgprobeLoad {id: $id})
SET load.stage = 'facts', load.finished = true, load.created = $created, load.changed = [0, 0, 0], load.time = $time
