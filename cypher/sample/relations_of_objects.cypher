// Relations of which each fact's object is an object, including the fact's own.
// $rows: [{subject, fact}] -> fact, relation: the fact's, relations: ids, sorted
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)-[:OBJECT_OF]->(relation:Relation)
USING INDEX SEEK subject:Entity(id)
WITH fact.id AS fact, fact.relation AS own, relation.id AS id
ORDER BY fact, id
RETURN fact, own AS relation, collect(id) AS relations
