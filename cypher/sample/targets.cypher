// What a distractor has to be like: the object of each fact, its types, and the relation.
// $rows: [{subject, fact}] -> fact, relation, number: the object's, types: [id]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
RETURN fact.id AS fact, fact.relation AS relation, object.number AS number, coalesce(object.types, []) AS types
