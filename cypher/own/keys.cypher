// What identifies the nodes of a label, but for those that have a label of $before: reads all nodes, once a kind.
// $label, $before, $id: the property  ->  value
MATCH (n)
WHERE $label IN labels(n) AND none(other IN $before WHERE other IN labels(n))
RETURN n[$id] AS value
