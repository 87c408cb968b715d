// Index of the facts by id, for look-ups without the subject.
// no parameters -> no rows
CREATE INDEX fact_id IF NOT EXISTS FOR ()-[fact:FACT]-() ON (fact.id)
