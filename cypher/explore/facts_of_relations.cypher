// Facts of relations, the first $limit. Walks the facts of the relations' objects.
// For Neo4j Browser: :params {relations: ['P36'], as_of: null, limit: 100}
// Unless given: {as_of: null, limit: 100}
// Names: {relations: 'Relation'}
// $relations: [id], $as_of: yyyymmdd at which the facts hold, null for any time, $limit
//   -> fact, subject, subject_label, relation, relation_label, object, object_label, start, end, rank
UNWIND $relations AS id
MATCH (r:Relation {id: id})<-[:OBJECT_OF]-(o:Entity)<-[f:FACT]-(s:Entity)
WHERE f.relation = r.id
  AND ($as_of IS NULL OR coalesce(f.from, $as_of) <= $as_of AND coalesce(f.until, $as_of) >= $as_of AND f.ended IS NULL)
RETURN f.id AS fact, s.id AS subject, s.label AS subject_label, f.relation AS relation, r.label AS relation_label,
       o.id AS object, o.label AS object_label, f.start AS start, f.end AS end,
       coalesce(f.rank, 'normal') AS rank
LIMIT toInteger($limit)
