// Upper bound of the numbers of entities.
// no parameters -> size
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
RETURN coalesce(counter.next, 0) AS size
