// Facts of the graph, the first $limit. Reads no others.
// For Neo4j Browser: :params {as_of: null, limit: 100}
// Unless given: {as_of: null, limit: 100}
// $as_of: yyyymmdd at which the facts hold, null for any time, $limit
//   -> fact, subject, subject_label, relation, relation_label, object, object_label, start, end, rank
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE $as_of IS NULL OR coalesce(f.from, $as_of) <= $as_of AND coalesce(f.until, $as_of) >= $as_of AND f.ended IS NULL
WITH s, f, o
LIMIT toInteger($limit)
OPTIONAL MATCH (r:Relation {id: f.relation})
RETURN f.id AS fact, s.id AS subject, s.label AS subject_label, f.relation AS relation, r.label AS relation_label,
       o.id AS object, o.label AS object_label, f.start AS start, f.end AS end,
       coalesce(f.rank, 'normal') AS rank
