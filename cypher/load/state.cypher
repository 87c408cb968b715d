// State of the graph: its uid and what its loads have created and changed. An inverse graph that is made again has the
// same state, so its load has no time there.
// no parameters -> uid, loads: [{id, source, time, created, changed}]; created, changed: [relations, entities, facts]
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
WITH counter.uid AS uid, counter.reversal IS NOT NULL AS undated
OPTIONAL MATCH (load:KgprobeLoad)
WITH uid, undated, load ORDER BY load.id
RETURN uid, collect(CASE WHEN load.created IS NOT NULL THEN {id: load.id, source: load.source,
  time: CASE WHEN undated THEN '' ELSE load.time END, created: load.created, changed: load.changed} END) AS loads
