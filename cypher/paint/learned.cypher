// Paint facts that a run surely knows and an earlier one surely did not: a LEARNED beside each, with what is believed of it. A type cannot be a parameter, so each has a file.
// Walks the beliefs about the facts of each subject, once.
// $run, $rows: [{subject, facts: {fact: true}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[belief:BELIEF]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE belief.run = $run AND row.facts[belief.fact] IS NOT NULL
CREATE (subject)-[:LEARNED {run: $run, fact: belief.fact, relation: belief.relation_label, theta: belief.theta, low: belief.low,
                         high: belief.high, right: belief.right, wrong: belief.wrong}]->(object)
