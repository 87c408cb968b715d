// Remove the beliefs from the twins of facts whose subjects have some numbers.
// $types, $from, $to: numbers of entities, the last one excluded -> no rows
UNWIND range($from, $to - 1) AS number
MATCH (subject:Entity {number: number})
USING INDEX SEEK subject:Entity(number)
MATCH (subject)-[twin]->(:Entity)
WHERE type(twin) IN $types AND twin.theta IS NOT NULL
REMOVE twin.alpha, twin.beta, twin.theta, twin.low, twin.high, twin.right, twin.wrong, twin.belief, twin.belief_code,
       twin.asked, twin.round
