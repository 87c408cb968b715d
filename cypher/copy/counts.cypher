// How many nodes and relationships a graph has, without those of a copy at work.
// no parameters -> nodes, relationships
MATCH (n)
WHERE NOT n:Copy
WITH count(n) AS nodes
OPTIONAL MATCH ()-[r]->()
RETURN nodes, count(r) AS relationships
