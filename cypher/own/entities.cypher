// Nodes of a label without a label of $before, with the mapped properties. Reads all nodes, once for each kind of entity.
// $label, $before, $id, $name, $description, $popularity, $type_property, $aliases: properties
//   -> element, labels, id, name, description, popularity, type, aliases, types
MATCH (n)
WHERE $label IN labels(n) AND none(other IN $before WHERE other IN labels(n))
RETURN elementId(n) AS element, labels(n) AS labels, n[$id] AS id, n[$name] AS name, n[$description] AS description,
       n[$popularity] AS popularity, n[$type_property] AS type, [alias IN $aliases | n[alias]] AS aliases, [] AS types
