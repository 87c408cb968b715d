// The last day before a date on which a fact began, and the last day of a fact that ended: equal for two dates at which the same
// facts are current. Scans the graph, once for each measurement, run or label table.
// $day: yyyymmdd
//   -> begun, ended: yyyymmdd; null without one
MATCH (:Entity)-[fact:FACT]->(:Entity)
RETURN max(CASE WHEN fact.from <= $day THEN fact.from END) AS begun,
       max(CASE WHEN fact.until < $day THEN fact.until END) AS ended
