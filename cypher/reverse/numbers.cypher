// Upper bound of the entities' numbers; some numbers below it may be unused.
// no parameters -> numbers
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
RETURN coalesce(counter.next, 0) AS numbers
