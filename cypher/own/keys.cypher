// Ids of the nodes of a label without a label of $before. Reads all nodes, once for each kind.
// $label, $before, $id: the property -> value
MATCH (n)
WHERE $label IN labels(n) AND none(other IN $before WHERE other IN labels(n))
RETURN n[$id] AS value
