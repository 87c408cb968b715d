// Create the counter and the node of a load again, behind the entities: Neo4j lists nodes in the order of their creation, and a
// graph's first nodes are to be its entities. Done once for each graph.
// $id -> no rows
MATCH (counter:KgprobeCounter {id: 'entities'})
WHERE counter.placed IS NULL
MATCH (load:KgprobeLoad {id: $id})
WITH counter, load, properties(counter) AS count, properties(load) AS progress
DELETE counter, load
CREATE (placed:KgprobeCounter)
SET placed = count, placed.placed = true
CREATE (begun:KgprobeLoad)
SET begun = progress
