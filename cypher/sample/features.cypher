// What tells entities from one another: the facts that each is the subject of, whenever they held, and its types. Scans
// the graph; streamed, once for each state of the graph.
// no parameters -> number, named, types: [id], facts: [[relation, number of the object; its id where it has no number]]
MATCH (entity:Entity)
RETURN entity.number AS number, coalesce(entity.label, '') <> '' AS named, coalesce(entity.types, []) AS types,
       [(entity)-[fact:FACT]->(object:Entity) | [fact.relation, coalesce(object.number, object.id)]] AS facts
