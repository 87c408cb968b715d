// Nodes of a user's graph with one of some properties. Reads all nodes.
// $names: of the properties -> element, stored: values
MATCH (n)
WHERE any(name IN $names WHERE n[name] IS NOT NULL)
RETURN elementId(n) AS element, [name IN $names | n[name]] AS stored
