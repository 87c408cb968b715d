// Entities by name, ignoring case, as sample/called. Only for Neo4j: looks each name up in the full-text index.
// $names: [{name: in lower case, phrase: in the index's query language}]
//   -> id, names: the label, then the aliases
UNWIND $names AS row
CALL db.index.fulltext.queryNodes('entity_names', row.phrase) YIELD node AS entity
WITH row, entity
WHERE toLower(entity.label) = row.name OR any(alias IN coalesce(entity.aliases, []) WHERE toLower(alias) = row.name)
WITH DISTINCT entity
RETURN entity.id AS id, [entity.label] + coalesce(entity.aliases, []) AS names
ORDER BY id
