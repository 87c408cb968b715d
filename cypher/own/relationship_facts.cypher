// Relationships of a type between nodes of some labels. Reads all of them, once for each kind. An end is returned with its labels
// and the values of $keys, one for each kind of entity.
// $type, $from, $to, $keys, $start, $end, $rank, $fact_id, $stored: names of further properties
//   -> element, subject, object, start, end, rank, fact_id, stored: values
MATCH (s)-[r]->(o)
WHERE type(r) = $type
  AND any(label IN labels(s) WHERE label IN $from) AND any(label IN labels(o) WHERE label IN $to)
RETURN elementId(r) AS element, r[$start] AS start, r[$end] AS end, r[$rank] AS rank, r[$fact_id] AS fact_id,
       [name IN $stored | r[name]] AS stored,
       {element: elementId(s), labels: labels(s), values: [key IN $keys | s[key]]} AS subject,
       {element: elementId(o), labels: labels(o), values: [key IN $keys | o[key]]} AS object
