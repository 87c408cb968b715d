// Mark an import as finished, like a load.
// $id -> no rows
MATCH (load:KgprobeLoad {id: $id})
SET load.stage = 'facts', load.finished = true
