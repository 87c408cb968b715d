// Store the progress of a copy.
// $of: state of the original graph, $stage, $position -> no rows
MERGE (copy:KgprobeCopy {id: 'copy'})
SET copy.of = $of, copy.stage = $stage, copy.position = $position
