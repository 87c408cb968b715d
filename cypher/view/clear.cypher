// Remove the beliefs from the facts of some subjects, by their numbers.
// $from, $to: numbers of entities, the last one excluded -> cleared: number of facts
UNWIND range($from, $to - 1) AS number
MATCH (subject:Entity {number: number})
USING INDEX SEEK subject:Entity(number)
MATCH (subject)-[fact:FACT]->(:Entity)
WHERE fact.theta IS NOT NULL
REMOVE fact.alpha, fact.beta, fact.theta, fact.low, fact.high, fact.right, fact.wrong, fact.belief, fact.asked, fact.round
RETURN count(*) AS cleared
