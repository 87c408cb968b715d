// Facts with names and the beliefs of the run in view. Reads all facts of the subjects.
// $rows: [{subject, fact}]
//   -> subject, subject_label, relation, relation_label, object, object_label, fact, theta, belief
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
USING INDEX SEEK subject:Entity(id)
MATCH (subject)-[fact:FACT {id: row.fact}]->(object:Entity)
OPTIONAL MATCH (relation:Relation {id: fact.relation})
RETURN subject.id AS subject, subject.label AS subject_label, fact.relation AS relation,
       coalesce(relation.label, fact.relation_label, fact.relation) AS relation_label, object.id AS object,
       object.label AS object_label, fact.id AS fact, fact.theta AS theta, fact.belief AS belief
