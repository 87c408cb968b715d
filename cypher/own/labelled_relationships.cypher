// Relationships of a user's graph with a property, which kgprobe has written. Reads all relationships.
// $marker: the property -> element, tail, head: {element}
MATCH (tail)-[r]->(head)
WHERE r[$marker] IS NOT NULL
RETURN elementId(r) AS element, {element: elementId(tail)} AS tail, {element: elementId(head)} AS head
