// Count the own answers of facts: alpha counts wrong ones, beta right ones, as theta is the probability that the model fails.
// Refusals and answers off the format are wrong ones, and are counted once more by themselves. A fact that could not be
// asked gets its reason, and is not asked again in the run.
// $run, $model, $rows: [{subject, fact, right, wrong, refused, off_format, unaskable}] -> fact, alpha, beta, unaskable: whether it could not
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT {id: row.fact}]->(object:Entity)
MERGE (subject)-[belief:BELIEF {run: $run, fact: row.fact}]->(object)
ON CREATE SET belief.model = $model, belief.alpha = 1, belief.beta = 1, belief.right = 0, belief.wrong = 0
SET belief.alpha = belief.alpha + row.wrong, belief.wrong = belief.wrong + row.wrong,
    belief.beta = belief.beta + row.right, belief.right = belief.right + row.right,
    belief.refused = coalesce(belief.refused, 0) + row.refused,
    belief.off_format = coalesce(belief.off_format, 0) + row.off_format,
    belief.unaskable = coalesce(row.unaskable, belief.unaskable)
RETURN row.fact AS fact, belief.alpha AS alpha, belief.beta AS beta, belief.unaskable IS NOT NULL AS unaskable
