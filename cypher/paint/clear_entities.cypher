// Remove the painted labels of some entities; called until none are left, to limit the size of transactions.
// $size -> cleared
MATCH (entity:MostlyKnown|HalfKnown|MostlyUnknown)
WITH entity LIMIT $size
REMOVE entity:MostlyKnown:HalfKnown:MostlyUnknown, entity.unknown_share
RETURN count(*) AS cleared
