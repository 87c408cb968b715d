// Facts per object by relation, over the objects with some numbers that are not literals: the number of facts, of facts without an
// end, and of objects of the latter. The sums over all numbers are those of the graph. Walks the facts that point to these entities.
// $first, $last: numbers -> relation, facts, lasting, objects
UNWIND range($first, $last) AS number
MATCH (object:Entity {number: number})
USING INDEX SEEK object:Entity(number)
WHERE NOT object:Literal
MATCH (object)<-[fact:FACT]-(:Entity)
WITH fact.relation AS relation, number, count(*) AS facts,
     sum(CASE WHEN fact.until IS NULL AND fact.ended IS NULL THEN 1 ELSE 0 END) AS lasting
RETURN relation, sum(facts) AS facts, sum(lasting) AS lasting,
       sum(CASE WHEN lasting > 0 THEN 1 ELSE 0 END) AS objects
ORDER BY relation
