// Set properties of relationships of a user's graph that still have the values before; null removes a property. A relationship is
// locked before its values are compared. One that was changed, deleted or replaced (its ends differ) since it was read is left out.
// $names: of the properties, $rows: [{element, tail, head: element ids, before: values, properties}] -> written
UNWIND $rows AS row
MATCH (tail)-[r]->(head)
WHERE elementId(r) = row.element AND elementId(tail) = row.tail AND elementId(head) = row.head
SET r.kgprobe_lock_9f4e1c7a = true
REMOVE r.kgprobe_lock_9f4e1c7a
WITH r, row
WHERE all(place IN range(0, size($names) - 1)
          WHERE coalesce(r[$names[place]] = row.before[place], r[$names[place]] IS NULL AND row.before[place] IS NULL))
SET r += row.properties
RETURN count(r) AS written
