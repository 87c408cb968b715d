// Facts that the run in view has not asked, with its expectations and names, as rows of a label table; none for another run. Reads
// all facts by the index of theta.
// $run -> fact, subject, subject_name, relation, relation_name, object, object_name, theta, low, high
MATCH (run:Run {id: $run})
WHERE run.inView
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.theta >= 0.0 AND f.belief = 'not asked'
RETURN f.id AS fact, s.id AS subject, coalesce(s.label, s.id) AS subject_name, f.relation AS relation,
       coalesce(f.relation_label, f.relation) AS relation_name, o.id AS object, coalesce(o.label, o.id) AS object_name,
       f.theta AS theta, f.low AS low, f.high AS high
