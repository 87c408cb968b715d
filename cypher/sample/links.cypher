// Relations and linked entities of the entities with these numbers; if types are given, only of those with one of the types.
// $rows: [{kind, types: [id], numbers}] -> kind, number, links: [{relation, types: of the object, datatype: its, or empty}]
UNWIND $rows AS row
UNWIND row.numbers AS number
MATCH (member:Entity {number: number})-[fact:FACT]->(object:Entity)
USING INDEX SEEK member:Entity(number)
WHERE size(row.types) = 0 OR any(type IN coalesce(member.types, []) WHERE type IN row.types)
RETURN row.kind AS kind, number,
       collect(DISTINCT {relation: fact.relation, types: coalesce(object.types, []), datatype: coalesce(object.datatype, '')})
         AS links
