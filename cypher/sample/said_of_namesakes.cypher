// Which statements the graph makes, at any time, of a subject of one of these names. Walks the facts that end in each object;
// nothing is said of objects with more than $max_degree facts.
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
