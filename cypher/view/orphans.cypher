// A fact that holds a belief, if there is one. Seeks in the index of theta.
// no parameters -> fact
MATCH (:Entity)-[fact:FACT]->(:Entity)
WHERE fact.theta >= 0.0
RETURN fact.id AS fact
LIMIT 1
