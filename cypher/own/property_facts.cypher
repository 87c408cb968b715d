// Nodes of some labels with a property, and its value. Reads all nodes, once for each kind.
// $from: labels, $property, $keys -> subject, value
MATCH (n)
WHERE any(label IN labels(n) WHERE label IN $from) AND n[$property] IS NOT NULL
RETURN {element: elementId(n), labels: labels(n), values: [key IN $keys | n[key]]} AS subject, n[$property] AS value
