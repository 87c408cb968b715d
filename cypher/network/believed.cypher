// Facts of entities, in both directions, with theta of the run in view. A fact between two of the entities has a row for each. Reads
// all facts of the entities.
// $entities: [id] -> entity, neighbour, subject, fact, theta
UNWIND $entities AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
MATCH (entity)-[fact:FACT]-(neighbour:Entity)
WHERE fact.theta IS NOT NULL AND neighbour.id <> id
RETURN id AS entity, neighbour.id AS neighbour, startNode(fact).id AS subject, fact.id AS fact, fact.theta AS theta
