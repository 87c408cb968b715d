// Paint facts that a run surely knows: a parallel relationship KNOWN.
// A type cannot be a parameter, so that each type has a file. Walks the facts of each subject once.
// $rows: [{subject, facts: {id: {properties, mark, suffix}}}], each subject once; the caption is mark, relation, years, suffix
//   -> painted: number of facts
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
WITH subject, object, fact, row.facts[fact.id] AS now
WHERE now IS NOT NULL
WITH subject, object, fact, now,
     CASE WHEN fact.from IS NULL AND fact.until IS NULL AND fact.ended IS NULL THEN ''
          ELSE ' ' + coalesce(toString(toInteger(floor(fact.from / 10000.0))), '') + '–'
               + coalesce(toString(toInteger(floor(fact.until / 10000.0))), CASE WHEN fact.ended THEN '?' ELSE '' END) END AS years
CREATE (subject)-[painted:KNOWN {fact: fact.id, relation: fact.relation_label,
                   caption: now.mark + ' ' + fact.relation_label + years + now.suffix}]->(object)
SET painted += now.properties
RETURN count(*) AS painted
