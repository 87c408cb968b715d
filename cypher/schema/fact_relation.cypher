// Index of the facts by the id of their relation. Only for Neo4j: the index of the embedded engine is slow where many facts share a
// value, and would make deleting facts ten times slower.
// no parameters -> no rows
CREATE INDEX fact_relation IF NOT EXISTS FOR ()-[fact:FACT]-() ON (fact.relation)
