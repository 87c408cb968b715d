// State of the graph: its uid and the progress of its loads.
// no parameters -> uid, loads: [{id, finished, stage, position}]
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
WITH counter.uid AS uid
OPTIONAL MATCH (load:KgprobeLoad)
WITH uid, load ORDER BY load.id
RETURN uid, collect(CASE WHEN load IS NULL THEN NULL
  ELSE {id: load.id, finished: load.finished, stage: load.stage, position: load.position} END) AS loads
