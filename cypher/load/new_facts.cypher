// Create new facts between existing entities. A fact with a missing subject or object is skipped.
// $source, $load, $labels: {id of a relation: label}, $rows: [{subject, facts: {id: {object, relation, rank, start, from,
//   start_date, end, until, ended, end_date, line}}}]
//   -> created: the number of facts
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})
USING INDEX SEEK subject:Entity(id)
UNWIND keys(row.facts) AS id
WITH subject, id, row.facts[id] AS fact
MATCH (object:Entity {id: fact.object})
USING INDEX SEEK object:Entity(id)
CREATE (subject)-[:FACT {id: id, relation: fact.relation, relation_label: $labels[fact.relation], rank: fact.rank,
  start: fact.start, from: fact.from, start_date: date(fact.start_date), end: fact.`end`, until: fact.until,
  ended: fact.ended, end_date: date(fact.end_date), source: $source, load: $load, line: fact.line}]->(object)
RETURN count(*) AS created
