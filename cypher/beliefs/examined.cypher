// What a run learned of the facts that it asked itself. Scans the beliefs.
// $run, $year_relation: id of the relation whose literal at the subject dates a fact; null takes the fact's own start
//   -> fact, relation, subject, subject_label, object, object_label, types: of the subject, [{id, label}], year: a date,
//      alpha, beta, right, wrong, refused, off_format, unaskable
MATCH (subject:Entity)-[belief:BELIEF]->(object:Entity)
WHERE belief.run = $run AND (belief.right + belief.wrong > 0 OR belief.unaskable IS NOT NULL)
MATCH (subject)-[fact:FACT {id: belief.fact}]->(object)
OPTIONAL MATCH (subject)-[:INSTANCE_OF]->(type:Type)
WITH subject, belief, object, fact,
     collect(CASE WHEN type IS NULL THEN NULL ELSE {id: type.id, label: coalesce(type.label, '')} END) AS types
OPTIONAL MATCH (subject)-[dated:FACT]->(date:Literal)
WHERE dated.relation = $year_relation
WITH subject, belief, object, fact, types, min(date.value) AS date
RETURN fact.id AS fact, fact.relation AS relation, subject.id AS subject, subject.label AS subject_label,
       object.id AS object, object.label AS object_label, types,
       CASE WHEN $year_relation IS NULL THEN fact.start ELSE date END AS year,
       belief.alpha AS alpha, belief.beta AS beta, belief.right AS right, belief.wrong AS wrong,
       coalesce(belief.refused, 0) AS refused, coalesce(belief.off_format, 0) AS off_format,
       belief.unaskable AS unaskable
ORDER BY fact
