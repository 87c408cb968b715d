// How far a copy has come.
// $of: the state of the graph that is copied, $stage, $position -> no rows
MERGE (copy:Copy {id: 'copy'})
SET copy.of = $of, copy.stage = $stage, copy.position = $position
