// Mark a run as being deleted, so that no round can be added; its beliefs are deleted next.
// $id -> no rows
MATCH (run:Run {id: $id})
SET run.round = -1
