// Examples of facts of a relation, up to three for each of some objects, with the names of both ends and the number of objects that
// subject and relation have at $as_of. Walks the facts that point to these objects and the facts of the subjects.
// $relation: id, $as_of: yyyymmdd, $objects: number
//   -> fact, subject, subject_label, degree: of the subject, object, object_label, start, end, holding
// Language: subject, object
MATCH (:Relation {id: $relation})<-[:OBJECT_OF]-(object:Entity)
WHERE object.label <> ''
WITH object
LIMIT $objects
CALL (object) {
  MATCH (subject:Entity)-[fact:FACT]->(object)
  WHERE fact.relation = $relation AND subject.label <> ''
  RETURN subject, fact
  LIMIT 3
}
OPTIONAL MATCH (subject)-[other:FACT]->(held:Entity)
WHERE other.relation = $relation
  AND coalesce(other.from, $as_of) <= $as_of AND coalesce(other.until, $as_of) >= $as_of AND other.ended IS NULL
WITH object, subject, fact, count(DISTINCT held) AS holding
RETURN fact.id AS fact, subject.id AS subject, subject.label AS subject_label, subject.degree AS degree,
       object.id AS object, object.label AS object_label, fact.start AS start, fact.end AS end, holding
