// How far a load has come, in records of the stage it is in. It is the first statement of its batch: because all batches
// change the counter, only one at a time gets into the graph, and no other load writes a fact between a look and a creation.
// $id, $stage, $position, $finished -> no rows
MATCH (counter:Counter {id: 'entities'})
SET counter.batches = coalesce(counter.batches, 0) + 1
WITH counter
MATCH (load:Load {id: $id})
SET load.stage = $stage, load.position = $position, load.finished = $finished
