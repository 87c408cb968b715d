// Relations and ends of facts.
// $rows: [{subject, fact}] -> subject, fact, relation, object, literal: true if the object is a literal
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
RETURN subject.id AS subject, fact.id AS fact, fact.relation AS relation, object.id AS object,
       coalesce(object.datatype, '') <> '' AS literal
