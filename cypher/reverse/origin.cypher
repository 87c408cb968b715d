// Origin of an inverse graph; null for other graphs.
// no parameters -> reversal: JSON of a Reversal (kgprobe/graph/reversal.py)
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
RETURN counter.reversal AS reversal
