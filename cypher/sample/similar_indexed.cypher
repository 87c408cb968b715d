// Entities with a word that is similar to a word of a name or begins with it; of the best $limit, those with most facts first. Only
// for Neo4j: looks the words up in the full-text index.
// $words: in the index's query language, $limit -> id, label
CALL db.index.fulltext.queryNodes('entity_names', $words, {limit: $limit}) YIELD node AS entity
WITH entity
WHERE entity.label IS NOT NULL
RETURN entity.id AS id, entity.label AS label
ORDER BY coalesce(entity.degree, 0) DESC, id
