// Delete beliefs about facts whose object or relation changed. One look-up per fact and run.
// $rows: [{subject, fact: id}] -> no rows
MATCH (run:Run)
WITH collect(run.id) AS runs
UNWIND $rows AS row
UNWIND runs AS run
MATCH (belief:Belief {id: run + '/' + row.fact})
USING INDEX SEEK belief:Belief(id)
DETACH DELETE belief
