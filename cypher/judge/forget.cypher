// Delete the results of a sweep. $id -> no rows
MATCH (sweep:Sweep {id: $id})
DETACH DELETE sweep
