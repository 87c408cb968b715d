// What was imported is whole, as if it had been loaded.
// $id -> no rows
MATCH (load:Load {id: $id})
SET load.stage = 'facts', load.finished = true
