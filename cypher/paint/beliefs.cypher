// What a run believes of the facts that it asked, in words. Scans the beliefs; streamed.
// $run -> subject: id, fact, believed
MATCH (subject:Entity)-[belief:BELIEF]->(:Entity)
WHERE belief.run = $run AND belief.right + belief.wrong > 0
RETURN subject.id AS subject, belief.fact AS fact,
       CASE WHEN belief.right > belief.wrong AND belief.high < 0.5 THEN 'known'
            WHEN belief.wrong > belief.right AND belief.low > 0.5 THEN 'unknown'
            ELSE 'unsure'
       END AS believed
