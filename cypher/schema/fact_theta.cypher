// Index of the facts by theta of the run in view, to find the facts that a model least probably knows.
// no parameters -> no rows
CREATE INDEX fact_theta IF NOT EXISTS FOR ()-[fact:FACT]-() ON (fact.theta)
