// Store the origin of an inverse graph and its uid, which is the same for the same reversal, in an empty graph.
// $uid, $reversal: JSON of a Reversal (kgprobe/graph/reversal.py) -> no rows
MERGE (counter:KgprobeCounter {id: 'entities'})
SET counter.uid = $uid, counter.reversal = $reversal
