// Write beliefs onto facts: those of the run in view. Walks the facts of each subject once. A fact without own answers has the
// belief 'not asked', and its theta is the expectation.
// $rows: [{subject, facts: {id: {values: [alpha, beta, low, high], right, wrong, belief, round}}}], each subject once
//   -> written: number of facts
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(:Entity)
USING INDEX SEEK subject:Entity(id)
WITH fact, row.facts[fact.id] AS now
WHERE now IS NOT NULL
SET fact.alpha = now.values[0], fact.beta = now.values[1], fact.theta = now.values[0] / (now.values[0] + now.values[1]),
    fact.low = now.values[2], fact.high = now.values[3], fact.right = now.right, fact.wrong = now.wrong,
    fact.belief = now.belief, fact.asked = now.right + now.wrong > 0, fact.round = now.round
RETURN count(*) AS written
