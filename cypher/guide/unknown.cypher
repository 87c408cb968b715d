// Guide, chapter 1: painted facts that a model does not know, the least known first. Scans these relationships.
// For Neo4j Browser: :params {limit: 40}
// $limit -> path, run, subject, relation, object, known
MATCH path = (s:Entity)-[f:UNKNOWN|LEANS_UNKNOWN]->(o:Entity)
RETURN path, f.run AS run, s.label AS subject, f.relation AS relation, o.label AS object, round(1 - f.theta, 2) AS known
ORDER BY known, f.fact, run
LIMIT toInteger($limit)
