// What a run believes of the facts that it asked, in words. Reads the run's beliefs; streamed.
// $run -> fact, believed
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0
RETURN belief.fact AS fact,
       CASE WHEN belief.right > belief.wrong AND belief.high < 0.5 THEN 'known'
            WHEN belief.wrong > belief.right AND belief.low > 0.5 THEN 'unknown'
            ELSE 'unsure'
       END AS believed
