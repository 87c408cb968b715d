// How far the load of an import has come.
// $id -> stage, finished
MATCH (load:Load {id: $id})
RETURN load.stage AS stage, load.finished AS finished
