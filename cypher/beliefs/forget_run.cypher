// Delete a run after its beliefs.
// $id -> no rows
MATCH (run:Run {id: $id})
DETACH DELETE run
