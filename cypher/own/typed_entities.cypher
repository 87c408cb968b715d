// Nodes as in own/entities, with the nodes to which a relationship links them as types. Reads the neighbours, too. A type is
// returned with its labels, some of them in $labels, and the values of $keys, one for each kind of entity.
// $label, $before, $id, $name, $description, $popularity, $type_property, $aliases, $type_relationship, $labels, $keys
//   -> element, labels, id, name, description, popularity, type, aliases, types
MATCH (n)
WHERE $label IN labels(n) AND none(other IN $before WHERE other IN labels(n))
RETURN elementId(n) AS element, labels(n) AS labels, n[$id] AS id, n[$name] AS name, n[$description] AS description,
       n[$popularity] AS popularity, n[$type_property] AS type, [alias IN $aliases | n[alias]] AS aliases,
       [(n)-[r]->(t) WHERE type(r) = $type_relationship AND any(label IN labels(t) WHERE label IN $labels)
        | {element: elementId(t), labels: labels(t), values: [key IN $keys | t[key]]}] AS types
