// What a graph is the reversal of; null of one that is none.
// no parameters -> reversal: JSON of a Reversal (kgprobe/graph/reversal.py)
OPTIONAL MATCH (counter:Counter {id: 'entities'})
RETURN counter.reversal AS reversal
