// Facts with all that is needed to ask them: names and types of both ends, dates, and sizes of the pools of wrong entities.
// $rows: [{subject, fact}]
//   -> fact, relation, relation_label: its id without a label, relation_size: number of its objects, start, end, until, ended,
//      subject, subject_label, subject_aliases, subject_types: [{id, label: id without a label, size: number of members}],
//      subject_datatype: of a literal, else empty, object, object_label, object_aliases, object_number, object_types,
//      object_order: ids of its types in the order of the source, object_datatype, total: upper bound of the entities' numbers
// Language: subject, object, type?, relation?
OPTIONAL MATCH (counter:KgprobeCounter {id: 'entities'})
WITH coalesce(counter.next, 0) AS total
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
OPTIONAL MATCH (relation:Relation {id: fact.relation})
RETURN fact.id AS fact, fact.relation AS relation, coalesce(relation.label, fact.relation) AS relation_label,
       coalesce(relation.size, 0) AS relation_size, fact.start AS start, fact.end AS end, fact.until AS until,
       coalesce(fact.ended, false) AS ended,
       subject.id AS subject, coalesce(subject.label, '') AS subject_label, coalesce(subject.aliases, []) AS subject_aliases,
       [(subject)-[:INSTANCE_OF]->(type:Type) |
        {id: type.id, label: CASE WHEN coalesce(type.label, '') = '' THEN type.id ELSE type.label END, size: type.size}]
         AS subject_types,
       coalesce(subject.datatype, '') AS subject_datatype,
       object.id AS object, coalesce(object.label, '') AS object_label, coalesce(object.aliases, []) AS object_aliases,
       object.number AS object_number,
       [(object)-[:INSTANCE_OF]->(type:Type) |
        {id: type.id, label: CASE WHEN coalesce(type.label, '') = '' THEN type.id ELSE type.label END, size: type.size}]
         AS object_types,
       coalesce(object.types, []) AS object_order, coalesce(object.datatype, '') AS object_datatype, total
