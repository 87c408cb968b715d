// Size of the graph: its entities, and the relations that have facts, with their facts, active (asked) or not.
// Scans the entities and the facts once.
// -> entities, linked: entities with facts, degrees: sum of their numbers of facts, literals, types, active_relations,
//    inactive_relations, active_facts, inactive_facts
CALL () {
  MATCH (e:Entity)
  RETURN count(e) AS entities, sum(CASE WHEN coalesce(e.degree, 0) > 0 THEN 1 ELSE 0 END) AS linked,
         coalesce(sum(e.degree), 0) AS degrees
}
CALL () {
  MATCH (l:Literal)
  RETURN count(l) AS literals
}
CALL () {
  MATCH (t:Type)
  RETURN count(t) AS types
}
CALL () {
  MATCH (:Entity)-[f:FACT]->(:Entity)
  WITH f.relation AS id, count(*) AS facts
  OPTIONAL MATCH (r:Relation {id: id})
  WITH facts, coalesce(r.active, true) AS active
  RETURN sum(CASE WHEN active THEN 1 ELSE 0 END) AS active_relations,
         sum(CASE WHEN active THEN 0 ELSE 1 END) AS inactive_relations,
         sum(CASE WHEN active THEN facts ELSE 0 END) AS active_facts,
         sum(CASE WHEN active THEN 0 ELSE facts END) AS inactive_facts
}
RETURN entities, linked, degrees, literals, types, active_relations, inactive_relations, active_facts, inactive_facts
