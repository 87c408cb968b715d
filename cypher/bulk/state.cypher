// Progress of the load of an import.
// $id -> stage, finished
MATCH (load:KgprobeLoad {id: $id})
RETURN load.stage AS stage, load.finished AS finished
