// Remove the beliefs from the facts of some subjects, by their numbers, unless a run is in view. The counter is written to lock it:
// changes of the view wait for each other.
// $from, $to: numbers of entities, the last one excluded -> cleared: number of facts
MATCH (counter:KgprobeCounter {id: 'entities'})
SET counter.views = coalesce(counter.views, 0) + 1
WITH counter
WHERE NOT EXISTS { MATCH (run:Run) WHERE run.inView }
UNWIND range($from, $to - 1) AS number
MATCH (subject:Entity {number: number})
USING INDEX SEEK subject:Entity(number)
MATCH (subject)-[fact:FACT]->(:Entity)
WHERE fact.theta IS NOT NULL
REMOVE fact.alpha, fact.beta, fact.theta, fact.low, fact.high, fact.right, fact.wrong, fact.belief, fact.belief_code,
       fact.asked, fact.round
RETURN count(*) AS cleared
