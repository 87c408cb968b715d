// Add the own answers of facts to their beliefs: alpha counts wrong answers, beta right ones, since theta is the probability that
// the model fails. Refusals and answers in a wrong format count as wrong and have their own counts. A fact that could not be asked
// gets its reason, and is not asked again in the run. Known chance levels of the questions are collected. beliefs/summarize writes
// the interval and the word.
// $run, $round, $model, $labels: {id of a relation: its label}, $rows: [{subject, fact, right, wrong, refused, off_format, chance,
//   unaskable, question}]
//   -> subject, fact, alpha, beta, right, wrong, chances, unaskable: true if it could not be asked,
//      untied: true for a new belief, see beliefs/tie
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
MERGE (belief:Belief {id: $run + '/' + row.fact})
ON CREATE SET belief.run = $run, belief.model = $model, belief.fact = fact.id, belief.subject = subject.id,
              belief.object = object.id, belief.relation = fact.relation, belief.relation_label = $labels[fact.relation],
              belief.alpha = 1.0, belief.beta = 1.0, belief.right = 0, belief.wrong = 0, belief.chances = []
SET belief.round = $round, belief.alpha = belief.alpha + row.wrong, belief.wrong = belief.wrong + row.wrong,
    belief.beta = belief.beta + row.right, belief.right = belief.right + row.right,
    belief.refused = coalesce(belief.refused, 0) + row.refused,
    belief.off_format = coalesce(belief.off_format, 0) + row.off_format,
    belief.chances = CASE WHEN row.chance IS NULL THEN belief.chances ELSE belief.chances + [row.chance] END,
    belief.unaskable = coalesce(row.unaskable, belief.unaskable),
    belief.question = coalesce(row.question, belief.question)
RETURN row.subject AS subject, row.fact AS fact, belief.alpha AS alpha, belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, belief.chances AS chances, belief.unaskable IS NOT NULL AS unaskable,
       belief.subject_label IS NULL AS untied
