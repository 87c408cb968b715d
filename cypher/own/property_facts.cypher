// The nodes of some labels that have a property, and its value: reads all nodes, once a kind.
// $from: labels, $property, $keys  ->  subject, value
MATCH (n)
WHERE any(label IN labels(n) WHERE label IN $from) AND n[$property] IS NOT NULL
RETURN {element: elementId(n), labels: labels(n), values: [key IN $keys | n[key]]} AS subject, n[$property] AS value
