MATCH (run:Run {id: 'second'})
SET run.inView = true, run.viewed = 17
WITH run
UNWIND [{fact: 'c1', theta: 0.15, belief: 'surely known'}, {fact: 'c3', theta: 0.85, belief: 'surely unknown'},
        {fact: 'c4', theta: 0.7, belief: 'leans unknown'}, {fact: 'b1', theta: 0.25, belief: 'leans known'},
        {fact: 'b2', theta: 0.75, belief: 'leans unknown'}, {fact: 'b3', theta: 0.35, belief: 'leans known'},
        {fact: 'b4', theta: 0.2, belief: 'not asked'}, {fact: 'b5', theta: 0.3, belief: 'not asked'},
        {fact: 'b6', theta: 0.78, belief: 'not asked'}, {fact: 'k1', theta: 0.1, belief: 'surely known'},
        {fact: 'k2', theta: 0.9, belief: 'surely unknown'}, {fact: 'k4', theta: 0.65, belief: 'leans unknown'},
        {fact: 'k5', theta: 0.95, belief: 'surely unknown'}, {fact: 'l1', theta: 0.33, belief: 'leans known'},
        {fact: 'l3', theta: 0.55, belief: 'leans unknown'}, {fact: 'l4', theta: 0.8, belief: 'surely unknown'},
        {fact: 'p1', theta: 0.45, belief: 'not asked'}] AS row
MATCH (:Entity)-[fact:FACT {id: row.fact}]->(:Entity)
SET fact.theta = row.theta, fact.belief = row.belief, fact.asked = row.belief <> 'not asked'
