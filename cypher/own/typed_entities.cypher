// As own/entities, with the nodes that a relationship ties an entity to as its types: reads the neighbours, too. A type
// has its labels, some of $labels among them, and the values of $keys, one for each kind of entity.
// $label, $before, $id, $name, $description, $popularity, $type_property, $aliases, $type_relationship, $labels, $keys
//   ->  element, labels, id, name, description, popularity, type, aliases, types
MATCH (n)
WHERE $label IN labels(n) AND none(other IN $before WHERE other IN labels(n))
RETURN elementId(n) AS element, labels(n) AS labels, n[$id] AS id, n[$name] AS name, n[$description] AS description,
       n[$popularity] AS popularity, n[$type_property] AS type, [alias IN $aliases | n[alias]] AS aliases,
       [(n)-[r]->(t) WHERE type(r) = $type_relationship AND any(label IN labels(t) WHERE label IN $labels)
        | {element: elementId(t), labels: labels(t), values: [key IN $keys | t[key]]}] AS types
