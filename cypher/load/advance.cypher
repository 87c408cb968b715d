// How far a load has come, in records of the stage it is in.
// $id, $stage, $position, $finished -> no rows
MATCH (load:Load {id: $id})
SET load.stage = $stage, load.position = $position, load.finished = $finished
