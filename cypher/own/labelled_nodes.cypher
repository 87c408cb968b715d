// Nodes of a user's graph with a property, which kgprobe has written. Reads all nodes.
// $marker: the property -> element
MATCH (n)
WHERE n[$marker] IS NOT NULL
RETURN elementId(n) AS element
