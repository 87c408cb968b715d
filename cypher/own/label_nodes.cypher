// Set properties of nodes of a user's graph that still have the values before; null removes a property. A node is locked before its
// values are compared. Nodes that were changed or deleted since they were read are left out.
// $names: of the properties, $rows: [{element, before: values, properties}] -> written
UNWIND $rows AS row
MATCH (n)
WHERE elementId(n) = row.element
SET n.kgprobe_lock_9f4e1c7a = true
REMOVE n.kgprobe_lock_9f4e1c7a
WITH n, row
WHERE all(place IN range(0, size($names) - 1)
          WHERE coalesce(n[$names[place]] = row.before[place], n[$names[place]] IS NULL AND row.before[place] IS NULL))
SET n += row.properties
RETURN count(n) AS written
