// How many numbers the graph's entities have been given; a number below may be nobody's.
// no parameters -> numbers
OPTIONAL MATCH (counter:Counter {id: 'entities'})
RETURN coalesce(counter.next, 0) AS numbers
