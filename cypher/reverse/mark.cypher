// Say of an empty graph what it will be the reversal of, and name it, so that the same reversal has the same name.
// $uid, $reversal: JSON of a Reversal (kgprobe/graph/reversal.py) -> no rows
MERGE (counter:Counter {id: 'entities'})
SET counter.uid = $uid, counter.reversal = $reversal
