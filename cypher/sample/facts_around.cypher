// Facts of entities in both directions, at any time. Leaves out literals, and entities with more than $max_degree facts. Walks the
// facts of each entity.
// $relations: [id], $as_of: yyyymmdd, $by: popularity or degree, $max_degree, $ids: [id]
//   -> entity, other: id of the other end, null for a literal, through: true if it has at most $max_degree facts, fact, relation,
//      subject, object, literal: true if the object is a literal, askable: as in sample/askable_triples,
//      of_subject, of_object: popularity or degree, null where unknown
// Language: subject, object
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
WHERE entity.degree <= $max_degree AND coalesce(entity.datatype, '') = ''
MATCH (entity)-[fact:FACT]-(:Entity)
WITH DISTINCT entity, fact
WITH entity, fact, startNode(fact) AS subject, endNode(fact) AS object
WITH entity, fact, subject, object, CASE WHEN subject.id = entity.id THEN object ELSE subject END AS other
RETURN entity.id AS entity, CASE WHEN coalesce(other.datatype, '') = '' THEN other.id ELSE null END AS other,
       other.degree <= $max_degree AS through, fact.id AS fact, fact.relation AS relation, subject.id AS subject,
       object.id AS object, coalesce(object.datatype, '') <> '' AS literal,
       fact.relation IN $relations AND coalesce(fact.from, $as_of) <= $as_of
         AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
         AND subject.label <> '' AND object.label <> '' AS askable,
       CASE WHEN $by = 'degree' THEN subject.degree ELSE subject.popularity END AS of_subject,
       CASE WHEN $by = 'degree' THEN object.degree ELSE object.popularity END AS of_object
