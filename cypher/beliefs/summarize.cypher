// Write what follows of alpha and beta, for people who look at a belief: E[theta], and the 90% credible interval of theta, which
// SciPy finds. Walks the beliefs about the facts of each subject, once.
// $run, $rows: [{subject, intervals: {fact: [low, high]}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[belief:BELIEF]->(:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE belief.run = $run AND row.intervals[belief.fact] IS NOT NULL
SET belief.theta = belief.alpha / (belief.alpha + belief.beta),
    belief.low = row.intervals[belief.fact][0], belief.high = row.intervals[belief.fact][1]
