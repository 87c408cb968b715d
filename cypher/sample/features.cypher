// Features of entities: the facts of which they are the subject, at any time, and their types. Scans the graph; streamed, once for
// each state of the graph.
// no parameters -> number, named, types: [id], kinds: [number of a type, or its id without a number], facts: [[relation, number of
//   the object, or its id without a number]]
// Language: entity
MATCH (entity:Entity)
RETURN entity.number AS number, coalesce(entity.label, '') <> '' AS named, coalesce(entity.types, []) AS types,
       [(entity)-[:INSTANCE_OF]->(type:Entity) | coalesce(type.number, type.id)] AS kinds,
       [(entity)-[fact:FACT]->(object:Entity) | [fact.relation, coalesce(object.number, object.id)]] AS facts
