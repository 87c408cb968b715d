// Remove a label from some entities; called until none are left, to limit the size of transactions.
// $label, $size -> removed
MATCH (entity:$($label))
WITH entity LIMIT $size
REMOVE entity:$($label)
RETURN count(*) AS removed
