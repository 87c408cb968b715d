// Write the summary of a run's beliefs: alpha and beta, E[theta], the 90% credible interval of theta, computed by SciPy, and the
// belief in words from kgprobe/beliefs/summary.py. One look-up per fact.
// $rows: [{belief: 'RUN/FACT', values: [alpha, beta, low, high], believed}] -> no rows
UNWIND $rows AS row
MATCH (belief:Belief {id: row.belief})
USING INDEX SEEK belief:Belief(id)
SET belief.alpha = row.values[0], belief.beta = row.values[1], belief.theta = row.values[0] / (row.values[0] + row.values[1]),
    belief.low = row.values[2], belief.high = row.values[3], belief.believed = row.believed
