// Numbers of all subjects of relations. Walks every fact of the relations' objects; read once for each relation.
// $ids: [id] -> id, numbers: [number]
UNWIND $ids AS id
MATCH (:Relation {id: id})<-[:OBJECT_OF]-(:Entity)<-[fact:FACT]-(subject:Entity)
WHERE fact.relation = id
RETURN id, collect(DISTINCT subject.number) AS numbers
