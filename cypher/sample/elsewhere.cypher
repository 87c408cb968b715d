// Other subjects of which entities are objects by a relation, and the last end of the fact with $subject. Walks the facts that point
// to the entities.
// $relation, $subject: ids, $ids: [id]
//   -> id, subjects: number of others, example: label of one of them, until: the last end of a fact of $subject
// Language: subject?
UNWIND $ids AS id
MATCH (object:Entity {id: id})<-[fact:FACT]-(subject:Entity)
USING INDEX SEEK object:Entity(id)
WHERE fact.relation = $relation
RETURN id, count(DISTINCT CASE WHEN subject.id = $subject THEN null ELSE subject.id END) AS subjects,
       min(CASE WHEN subject.id = $subject THEN null ELSE subject.label END) AS example,
       max(CASE WHEN subject.id = $subject THEN fact.end ELSE null END) AS until
