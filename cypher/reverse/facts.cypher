// Facts of some relations whose objects have some numbers and are not literals, ordered by object. Walks the facts that point to
// these entities.
// $first, $last: numbers, $relations: [id] -> fact, subject, relation, object, rank, start, end
UNWIND range($first, $last) AS number
MATCH (object:Entity {number: number})
USING INDEX SEEK object:Entity(number)
WHERE NOT object:Literal
MATCH (object)<-[fact:FACT]-(subject:Entity)
WHERE fact.relation IN $relations
RETURN fact.id AS fact, subject.id AS subject, fact.relation AS relation, object.id AS object, fact.rank AS rank,
       fact.start AS start, fact.`end` AS end
ORDER BY number, fact, subject
