// Set properties of nodes of a user's graph; null removes a property. Nodes that were deleted since they were read are left out.
// $rows: [{element, properties}] -> written
UNWIND $rows AS row
MATCH (n)
WHERE elementId(n) = row.element
SET n += row.properties
RETURN count(n) AS written
