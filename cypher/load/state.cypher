// State of the graph: its uid and what its loads have created and changed.
// no parameters -> uid, loads: [{id, source, time, created, changed}]; created, changed: [relations, entities, facts]
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
WITH counter.uid AS uid
OPTIONAL MATCH (load:KgprobeLoad)
WITH uid, load ORDER BY load.id
RETURN uid, collect(CASE WHEN load.created IS NOT NULL
  THEN {id: load.id, source: load.source, time: load.time, created: load.created, changed: load.changed} END) AS loads
