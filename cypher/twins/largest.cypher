// The relations with most facts, the largest first. Scans the facts.
// $limit -> id, label, size: number of facts
MATCH (:Entity)-[fact:FACT]->(:Entity)
WITH fact.relation AS id, count(*) AS size
ORDER BY size DESC, id
LIMIT toInteger($limit)
OPTIONAL MATCH (relation:Relation {id: id})
RETURN id, coalesce(relation.label, id) AS label, size
ORDER BY size DESC, id
