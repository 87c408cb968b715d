// Write what a run believes of facts: alpha and beta, E[theta], and the 90% credible interval of theta, which SciPy finds.
// Walks the beliefs about the facts of each subject, once.
// $run, $rows: [{subject, beliefs: {fact: [alpha, beta, low, high]}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[belief:BELIEF]->(:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE belief.run = $run AND row.beliefs[belief.fact] IS NOT NULL
SET belief.alpha = row.beliefs[belief.fact][0], belief.beta = row.beliefs[belief.fact][1],
    belief.theta = row.beliefs[belief.fact][0] / (row.beliefs[belief.fact][0] + row.beliefs[belief.fact][1]),
    belief.low = row.beliefs[belief.fact][2], belief.high = row.beliefs[belief.fact][3]
