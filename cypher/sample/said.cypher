// Statements that the graph contains, at any time, by any of their relations, with their object or another one that may share a name
// with it: Cypher has no case folding, so names are compared in lower and then upper case. Walks the facts of each subject.
// $rows: [{index, subject, relations: ids, object, names: the object's, in lower and then upper case}] -> index, names: of the known
//   object, the label first
// Language: known
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(known:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE fact.relation IN row.relations
WITH row, known, [coalesce(known.label, '')] + coalesce(known.aliases, []) AS names
WHERE known.id = row.object OR any(name IN names WHERE toUpper(toLower(name)) IN row.names)
RETURN DISTINCT row.index AS index, names
