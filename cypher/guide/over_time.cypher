// Guide, chapter 5: painted facts that a model does not know, with former facts of the same subject and relation. Scans these
// relationships, and reads the facts of their subjects.
// For Neo4j Browser: :params {limit: 40}
// $limit -> unknown, former: paths, subject, relation, object, formerly, until
MATCH unknown = (s:Entity)-[f:UNKNOWN|LEANS_UNKNOWN|FORGOT]->(o:Entity)
MATCH former = (s)-[old:FACT]->(before:Entity)
WHERE old.relation_label = f.relation AND (old.until IS NOT NULL OR old.ended) AND before <> o
RETURN unknown, former, s.label AS subject, f.relation AS relation, o.label AS object, before.label AS formerly, old.end AS until
ORDER BY f.theta DESC, f.fact, old.until IS NULL, old.until DESC, old.id
LIMIT toInteger($limit)
