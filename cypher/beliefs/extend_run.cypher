// Increase the number of rounds of a run.
// $id, $rounds -> no rows
MATCH (run:Run {id: $id})
SET run.rounds = $rounds
