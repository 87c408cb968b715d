// Statements that the graph contains, at any time, about a subject that may share one of these names: Cypher has no case folding, so
// names are compared in lower and then upper case. Walks the facts that point to each object; objects with more than $max_degree
// facts are skipped.
// $max_degree, $rows: [{index, names: the subject's, in lower and then upper case, relations: ids, object}] -> index, names: of the
//   known subject, the label first
// Language: namesake
UNWIND $rows AS row
MATCH (object:Entity {id: row.object})
USING INDEX SEEK object:Entity(id)
WHERE coalesce(object.degree, 0) <= $max_degree
WITH row, object
MATCH (namesake:Entity)-[fact:FACT]->(object)
WHERE fact.relation IN row.relations
WITH row, [coalesce(namesake.label, '')] + coalesce(namesake.aliases, []) AS names
WHERE any(name IN names WHERE toUpper(toLower(name)) IN row.names)
RETURN DISTINCT row.index AS index, names
