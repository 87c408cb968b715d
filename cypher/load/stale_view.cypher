// Remove the beliefs of the run in view from facts whose relation changed; those with another object are created again. One look-up
// per fact.
// $rows: [{subject, fact: id}] -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE fact.theta IS NOT NULL
REMOVE fact.alpha, fact.beta, fact.theta, fact.low, fact.high, fact.right, fact.wrong, fact.belief, fact.belief_code,
       fact.asked, fact.round
