// Relations by number of facts. Scans the facts.
// -> relation, label, active, facts, subjects, objects
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WITH f.relation AS relation, count(*) AS facts, count(DISTINCT s) AS subjects, count(DISTINCT o) AS objects
OPTIONAL MATCH (r:Relation {id: relation})
RETURN relation, r.label AS label, r.active AS active, facts, subjects, objects
ORDER BY facts DESC, relation
