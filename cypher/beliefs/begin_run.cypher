// A run: made if it is new, else as it stands.
// $id, $properties -> run: all properties
MERGE (run:Run {id: $id})
ON CREATE SET run += $properties, run.round = 0
RETURN properties(run) AS run
