// Store the progress of a load, in records of its stage. Must be the first statement of a batch: every batch changes the counter, so
// that only one batch is written at a time and no other load writes a fact between search and creation.
// $id, $stage, $position, $finished -> no rows
MATCH (counter:KgprobeCounter {id: 'entities'})
SET counter.batches = coalesce(counter.batches, 0) + 1
WITH counter
MATCH (load:KgprobeLoad {id: $id})
SET load.stage = $stage, load.position = $position, load.finished = $finished
