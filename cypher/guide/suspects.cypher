// Guide, chapter 6: painted facts that a model surely does not know, between entities that it mostly knows. Scans the painted
// relationships UNKNOWN.
// For Neo4j Browser: :params {limit: 40}
// $limit -> path, run, subject, relation, object, known
MATCH path = (s:MostlyKnown)-[f:UNKNOWN|FORGOT]->(o:MostlyKnown)
RETURN path, f.run AS run, s.label AS subject, f.relation AS relation, o.label AS object, round(1 - f.theta, 2) AS known
ORDER BY known, f.fact, run
LIMIT toInteger($limit)
