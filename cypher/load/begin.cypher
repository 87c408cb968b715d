// Begin a load, or return the position of an interrupted one; a finished load begins again. The first load sets the graph's uid,
// which distinguishes it from a copy with the same loads.
// $id, $source, $uid, $languages: codes of the languages of its names -> stage, position
MERGE (counter:KgprobeCounter {id: 'entities'})
SET counter.uid = coalesce(counter.uid, $uid)
MERGE (load:KgprobeLoad {id: $id})
SET load.source = coalesce(load.source, $source), load.languages = $languages
SET load.stage = CASE WHEN load.finished = false THEN load.stage ELSE 'entities' END,
    load.position = CASE WHEN load.finished = false THEN load.position ELSE 0 END
SET load.finished = false
RETURN load.stage AS stage, load.position AS position
