// Delete a run, its beliefs being gone.
// $id -> no rows
MATCH (run:Run {id: $id})
DELETE run
