// Nodes of a label that represent facts, with the nodes on both sides. Reads all nodes, once for each kind, and the neighbours of
// the nodes with the label. $subject_out is true if the arrow points from the node to the subject.
// $label, $subject_type, $subject_out, $subjects: labels, $object_type, $object_out, $objects: labels, $keys, $start, $end, $rank,
//   $fact_id, $stored: names of further properties
//   -> element, subjects, objects, start, end, rank, fact_id, stored: values
MATCH (n)
WHERE $label IN labels(n)
RETURN elementId(n) AS element, n[$start] AS start, n[$end] AS end, n[$rank] AS rank, n[$fact_id] AS fact_id,
       [name IN $stored | n[name]] AS stored,
       [(n)-[r]-(s) WHERE type(r) = $subject_type AND (startNode(r) = n) = $subject_out
                      AND any(label IN labels(s) WHERE label IN $subjects)
        | {element: elementId(s), labels: labels(s), values: [key IN $keys | s[key]]}] AS subjects,
       [(n)-[r]-(o) WHERE type(r) = $object_type AND (startNode(r) = n) = $object_out
                      AND any(label IN labels(o) WHERE label IN $objects)
        | {element: elementId(o), labels: labels(o), values: [key IN $keys | o[key]]}] AS objects
