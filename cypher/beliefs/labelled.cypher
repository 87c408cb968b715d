// Facts of a run with its beliefs and names, as rows of a label table: those with own answers, and those that answers to others have
// reached, not those that have the prior alone. Reads the run's beliefs, and looks up each fact.
// $run -> fact, subject, subject_name, relation, relation_name, object, object_name, theta, low, high, believed, right, wrong
// Language: s?, o?
MATCH (belief:Belief {run: $run})
WHERE belief.unaskable IS NULL AND belief.theta IS NOT NULL
  AND (belief.right + belief.wrong > 0 OR belief.alpha <> 1.0 OR belief.beta <> 1.0)
MATCH (s:Entity {id: belief.subject})-[f:FACT {id: belief.fact}]->(o:Entity)
USING INDEX SEEK s:Entity(id)
RETURN f.id AS fact, s.id AS subject, coalesce(s.label, s.id) AS subject_name, f.relation AS relation,
       coalesce(belief.relation_label, f.relation_label, f.relation) AS relation_name, o.id AS object,
       coalesce(o.label, o.id) AS object_name,
       belief.theta AS theta, belief.low AS low, belief.high AS high, belief.believed AS believed, belief.right AS right,
       belief.wrong AS wrong
