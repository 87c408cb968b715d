// Pools of replacements of each fact's subject: the subject's types, or its relation if it has none.
// $rows: [{subject, fact}] -> fact, types: [{id, size}], relation, total: upper bound of the entities' numbers
MATCH (counter:KgprobeCounter {id: 'entities'})
WITH counter.next AS total
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->()
USING INDEX SEEK subject:Entity(id)
OPTIONAL MATCH (subject)-[:INSTANCE_OF]->(type:Type)
WITH total, fact, collect(CASE WHEN type IS NULL THEN NULL ELSE {id: type.id, size: type.size} END) AS types
RETURN fact.id AS fact, types, fact.relation AS relation, total
