// From where others in the place of each fact's subject can come: the subject's types, or its relation where it has none.
// $rows: [{subject, fact}] -> fact, types: [{id, size}], relation, total: how many numbers entities have got
MATCH (counter:Counter {id: 'entities'})
WITH counter.next AS total
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->()
USING INDEX SEEK subject:Entity(id)
OPTIONAL MATCH (subject)-[:INSTANCE_OF]->(type:Type)
WITH total, fact, collect(CASE WHEN type IS NULL THEN NULL ELSE {id: type.id, size: type.size} END) AS types
RETURN fact.id AS fact, types, fact.relation AS relation, total
