// Numbers of nodes on both sides of some nodes of a label, to propose a mapping. Reads nodes up to the limit, and their
// neighbours. $subject_out is true if the arrow points from the node to the subject.
// $label, $subject_type, $subject_out, $subjects: labels, $object_type, $object_out, $objects: labels, $limit
//   -> subjects, objects, nodes: the number of nodes with as many subjects and objects
MATCH (n)
WHERE $label IN labels(n)
WITH n LIMIT $limit
WITH size([(n)-[r]-(s) WHERE type(r) = $subject_type AND (startNode(r) = n) = $subject_out
                         AND any(label IN labels(s) WHERE label IN $subjects) | 1]) AS subjects,
     size([(n)-[r]-(o) WHERE type(r) = $object_type AND (startNode(r) = n) = $object_out
                         AND any(label IN labels(o) WHERE label IN $objects) | 1]) AS objects
RETURN subjects, objects, count(*) AS nodes
