// Number of nodes and relationships, without the node of a copy in progress.
// no parameters -> nodes, relationships
MATCH (n)
WHERE NOT n:KgprobeCopy
WITH count(n) AS nodes
OPTIONAL MATCH ()-[r]->()
RETURN nodes, count(r) AS relationships
