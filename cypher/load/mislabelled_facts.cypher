// Facts with another label than their relation. Walks the facts that point to the relation's objects; streamed.
// $relation -> subject: id, fact
MATCH (relation:Relation {id: $relation})<-[:OBJECT_OF]-(:Entity)<-[fact:FACT]-(subject:Entity)
WHERE fact.relation = $relation AND coalesce(fact.relation_label, '') <> coalesce(relation.label, relation.id)
RETURN subject.id AS subject, fact.id AS fact
