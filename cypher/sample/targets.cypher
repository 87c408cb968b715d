// Objects of facts with their types, and the relations: the properties that a distractor must share.
// $rows: [{subject, fact}] -> fact, relation, number: the object's, types: [id]
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
RETURN fact.id AS fact, fact.relation AS relation, object.number AS number, coalesce(object.types, []) AS types
