// State of the graph: its uid and what its loads have created and changed.
// no parameters -> uid, loads: [{id, created, changed}]; [relations, entities, facts] each
OPTIONAL MATCH (counter:Counter {id: 'entities'})
WITH counter.uid AS uid
OPTIONAL MATCH (load:Load)
WITH uid, load ORDER BY load.id
RETURN uid, collect(CASE WHEN load.created IS NOT NULL
  THEN {id: load.id, created: load.created, changed: load.changed} END) AS loads
