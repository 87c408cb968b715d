// Create a run, or return an existing one unchanged.
// $id, $properties -> run: all properties
MERGE (run:Run {id: $id})
ON CREATE SET run += $properties, run.round = 0
RETURN properties(run) AS run
