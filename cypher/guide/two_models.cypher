// Guide, chapter 3: facts that one painted run knows and another does not. Scans painted relationships KNOWN and LEANS_KNOWN.
// For Neo4j Browser: :params {limit: 40}
// $limit -> known, unknown: paths, subject, relation, object, knows, does_not: runs
MATCH known = (s:Entity)-[f:KNOWN|LEANS_KNOWN]->(o:Entity)
MATCH unknown = (s)-[g:UNKNOWN|LEANS_UNKNOWN]->(o)
WHERE g.fact = f.fact AND g.run <> f.run
RETURN known, unknown, s.label AS subject, f.relation AS relation, o.label AS object, f.run AS knows, g.run AS does_not
ORDER BY g.theta - f.theta DESC, f.fact, knows, does_not
LIMIT toInteger($limit)
