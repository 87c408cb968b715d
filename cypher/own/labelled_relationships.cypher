// Relationships of a user's graph with one of some properties. Reads all relationships.
// $names: of the properties -> element, tail, head: {element}, stored: values
MATCH (tail)-[r]->(head)
WHERE any(name IN $names WHERE r[name] IS NOT NULL)
RETURN elementId(r) AS element, {element: elementId(tail)} AS tail, {element: elementId(head)} AS head,
       [name IN $names | r[name]] AS stored
