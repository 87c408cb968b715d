// What a run learned of the facts that it asked itself. Scans the beliefs.
// $run -> fact, relation, subject, subject_label, object, object_label, alpha, beta, right, wrong, unaskable
MATCH (subject:Entity)-[belief:BELIEF]->(object:Entity)
WHERE belief.run = $run AND (belief.right + belief.wrong > 0 OR belief.unaskable IS NOT NULL)
MATCH (subject)-[fact:FACT {id: belief.fact}]->(object)
RETURN fact.id AS fact, fact.relation AS relation, subject.id AS subject, subject.label AS subject_label,
       object.id AS object, object.label AS object_label, belief.alpha AS alpha, belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, belief.unaskable AS unaskable
ORDER BY fact
