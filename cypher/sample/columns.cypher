// All entities with the facts of which they are the subject, at any time and with a numbered object, for the columns on disk. Scans
// the graph; streamed, once for each state of the graph.
// no parameters
//   -> number, id, label, aliases, types: [id], popularity, degree, datatype: of a literal, else empty, facts: [[id, relation,
//      number of the object, from, until, ended: true for an unknown end, else null]]
// Language: entity
MATCH (entity:Entity)
WHERE entity.number IS NOT NULL
RETURN entity.number AS number, entity.id AS id, coalesce(entity.label, '') AS label, coalesce(entity.aliases, []) AS aliases,
       coalesce(entity.types, []) AS types, entity.popularity AS popularity, coalesce(entity.degree, 0) AS degree,
       coalesce(entity.datatype, '') AS datatype,
       [(entity)-[fact:FACT]->(object:Entity) WHERE object.number IS NOT NULL |
        [fact.id, fact.relation, object.number, fact.from, fact.until, fact.ended]] AS facts
