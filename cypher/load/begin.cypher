// Where a load stands that was interrupted; a new or a finished one begins at the beginning.
// The graph's own name, which tells it from a copy with the same loads, is given by the first load of all.
// $id, $source, $uid -> stage, position
MERGE (counter:Counter {id: 'entities'})
SET counter.uid = coalesce(counter.uid, $uid)
MERGE (load:Load {id: $id})
SET load.source = $source
SET load.stage = CASE WHEN load.finished = false THEN load.stage ELSE 'relations' END,
    load.position = CASE WHEN load.finished = false THEN load.position ELSE 0 END
SET load.finished = false
RETURN load.stage AS stage, load.position AS position
