// Set properties of relationships of a user's graph; null removes a property. A relationship that was deleted or replaced since it
// was read is left out: its ends or its type differ.
// $rows: [{element, tail, head: element ids, properties}] -> written
UNWIND $rows AS row
MATCH (tail)-[r]->(head)
WHERE elementId(r) = row.element AND elementId(tail) = row.tail AND elementId(head) = row.head
SET r += row.properties
RETURN count(r) AS written
