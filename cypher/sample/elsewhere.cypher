// Where else entities are objects of a relation, and until when they were one of a subject. Walks the facts that end in them.
// $relation, $subject: ids, $ids: [id]
//   -> id, subjects: how many others, example: the label of one, until: the last end of one of $subject
UNWIND $ids AS id
MATCH (object:Entity {id: id})<-[fact:FACT]-(subject:Entity)
USING INDEX SEEK object:Entity(id)
WHERE fact.relation = $relation
RETURN id, count(DISTINCT CASE WHEN subject.id = $subject THEN null ELSE subject.id END) AS subjects,
       min(CASE WHEN subject.id = $subject THEN null ELSE subject.label END) AS example,
       max(CASE WHEN subject.id = $subject THEN fact.end ELSE null END) AS until
