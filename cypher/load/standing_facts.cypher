// Find the facts of a batch that exist already. Facts between the same entities are updated; facts that this load wrote from another
// line are duplicates and change nothing. Walks the facts of each subject once.
// $source, $load, $labels: {id of a relation: label}, $rows: [{subject, facts: {id: {object, relation, rank, start, from,
//   start_date, end, until, ended, end_date, line}}}], each subject once
//   -> kept: [id] of facts between the same entities; revised: the number of those with another rank or validity; changed: [{id,
//      subject, object, relation}], the former values of facts with another object or relation; duplicates: [{id, before}] with
//      their first line
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(object)
USING INDEX SEEK subject:Entity(id)
WITH subject, fact, object, row.facts[fact.id] AS now
WHERE now IS NOT NULL
WITH subject, fact, object, now, fact.relation AS relation, fact.line AS line, object.id = now.object AS same,
     coalesce(fact.load = $load AND fact.line <> now.line, false) AS duplicate,
     coalesce(fact.rank, '') <> now.rank OR coalesce(fact.start, '') <> coalesce(now.start, '')
       OR coalesce(fact.end, '') <> coalesce(now.`end`, '') AS revised
SET fact += CASE WHEN duplicate OR NOT same THEN {} ELSE
  {relation: now.relation, relation_label: $labels[now.relation], rank: now.rank, start: now.start, from: now.from,
   start_date: date(now.start_date), end: now.`end`, until: now.until, ended: now.ended, end_date: date(now.end_date), source: $source,
   load: $load, line: now.line} END
RETURN collect(CASE WHEN same AND NOT duplicate THEN fact.id END) AS kept,
       sum(CASE WHEN same AND NOT duplicate AND relation = now.relation AND revised THEN 1 ELSE 0 END) AS revised,
       collect(CASE WHEN NOT duplicate AND (NOT same OR relation <> now.relation)
         THEN {id: fact.id, subject: subject.id, object: object.id, relation: relation} END) AS changed,
       collect(CASE WHEN duplicate THEN {id: fact.id, before: line} END) AS duplicates
