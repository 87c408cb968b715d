// Communities of ignorance: connected facts that a run surely does not know. Starts at the entities with most facts painted UNKNOWN
// or FORGOT by `kgprobe beliefs paint`, with these facts and those one step farther. Returns painted paths.
// For Neo4j Browser: :params {communities: 3, limit: 100}
// Unless given: {communities: 3, limit: 100}
// Scans relationships UNKNOWN or FORGOT, and walks two steps from $communities entities. $communities, $limit: paths of each
//   -> centre, unknown: facts at it, steps, entities, relations, path
MATCH (centre)-[painted:UNKNOWN|FORGOT]-()
WITH centre, count(*) AS unknown
ORDER BY unknown DESC, centre.id
LIMIT toInteger($communities)
MATCH path = (centre)-[:UNKNOWN|FORGOT*1..2]-(:Entity)
WITH centre, unknown, path, length(path) AS steps, [e IN nodes(path) | e.label] AS entities,
     [r IN relationships(path) | r.relation] AS relations, [r IN relationships(path) | r.fact] AS facts
ORDER BY steps, facts
WITH centre, unknown, collect({steps: steps, entities: entities, relations: relations, path: path}) AS all_of_it
UNWIND all_of_it[0..toInteger($limit)] AS one
RETURN centre.label AS centre, unknown, one.steps AS steps, one.entities AS entities, one.relations AS relations,
       one.path AS path
ORDER BY unknown DESC, centre, steps, entities, relations
