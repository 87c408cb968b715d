// Statements that the graph contains, at any time, about a subject with one of these names. Walks the facts that point to each
// object; objects with more than $max_degree facts are skipped.
// $max_degree, $rows: [{index, names: the subject's, relations: ids, object}] -> index
UNWIND $rows AS row
MATCH (object:Entity {id: row.object})
USING INDEX SEEK object:Entity(id)
WHERE coalesce(object.degree, 0) <= $max_degree
WITH row, object
MATCH (namesake:Entity)-[fact:FACT]->(object)
WHERE fact.relation IN row.relations
  AND (namesake.label IN row.names OR any(name IN coalesce(namesake.aliases, []) WHERE name IN row.names))
RETURN DISTINCT row.index AS index
