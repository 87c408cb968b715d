// Statements that the graph contains, at any time, by any of their relations, with their object or another one that shares a name
// with it. Walks the facts of each subject.
// $rows: [{index, subject, relations: ids, object, names: the object's}] -> index
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(known:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE fact.relation IN row.relations
  AND (known.id = row.object OR known.label IN row.names OR any(name IN coalesce(known.aliases, []) WHERE name IN row.names))
RETURN DISTINCT row.index AS index
