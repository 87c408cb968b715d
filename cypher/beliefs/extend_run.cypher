// Let a run go on to more rounds.
// $id, $rounds -> no rows
MATCH (run:Run {id: $id})
SET run.rounds = $rounds
