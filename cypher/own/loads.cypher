// Number of loads of kgprobe in a graph: 0 in a user's graph. Reads the nodes KgprobeLoad.
// no parameters -> loads
MATCH (load:KgprobeLoad)
WHERE load.stage IN ['relations', 'entities', 'facts'] AND load.finished IS NOT NULL
RETURN count(load) AS loads
