// One run.
// $id -> run: all properties
MATCH (run:Run {id: $id})
RETURN properties(run) AS run
