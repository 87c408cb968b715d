// Index of the facts by the belief of the run in view, for `WHERE f.belief = 'surely unknown'`. Only for Neo4j: the index of the embedded
// engine is slow where many facts share a value, and would make rounds twenty times slower.
// no parameters -> no rows
CREATE INDEX fact_belief IF NOT EXISTS FOR ()-[fact:FACT]-() ON (fact.belief)
