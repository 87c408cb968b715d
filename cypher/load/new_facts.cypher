// Create new facts between existing entities. A fact with a missing subject or object is skipped.
// $source, $load, $labels: {id of a relation: label}, $rows: [{subject, facts: {id: {object, relation, rank, start, end, from,
//   until, line}}}]
//   -> created: the number of facts
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
USING INDEX SEEK subject:Entity(id)
UNWIND keys(row.facts) AS id
WITH subject, id, row.facts[id] AS fact
MATCH (object:Entity {id: fact.object})
USING INDEX SEEK object:Entity(id)
CREATE (subject)-[:FACT {id: id, relation: fact.relation, relation_label: $labels[fact.relation], rank: fact.rank,
  start: fact.start, end: fact.`end`, from: fact.from, until: fact.until, source: $source, load: $load, line: fact.line}]->(object)
RETURN count(*) AS created
