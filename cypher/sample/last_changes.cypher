// The last days at which facts began, and before which facts ended: equal for two dates at which the same facts are current. Scans
// the graph, once for each measurement, run or label table.
// $as_of: yyyymmdd
//   -> begun, ended: yyyymmdd; null without one
MATCH (:Entity)-[fact:FACT]->(:Entity)
RETURN max(CASE WHEN fact.from <= $as_of THEN fact.from END) AS begun,
       max(CASE WHEN fact.until < $as_of THEN fact.until END) AS ended
