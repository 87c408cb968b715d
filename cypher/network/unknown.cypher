// Asked facts that the model does not know according to a run. Reads the run's beliefs; streamed.
// $run, $sure: true for surely unknown facts only -> subject, object, relation
MATCH (belief:Belief {run: $run})
WHERE belief.right + belief.wrong > 0
  AND (belief.believed = 'surely unknown' OR NOT $sure AND belief.believed = 'leans unknown')
RETURN belief.subject AS subject, belief.object AS object, belief.relation AS relation
