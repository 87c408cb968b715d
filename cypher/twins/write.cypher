// Write the twins of facts: relationships parallel to them, with the type of the relation and the properties of the fact. Only for
// Neo4j. Walks the facts of each subject once. A fact is written first, to lock it: a round or a load that changes it waits.
// $types: {id of a relation: type}; facts of others have none, $rows: [{subject, facts: {id: any value}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
WHERE row.facts[fact.id] IS NOT NULL AND $types[fact.relation] IS NOT NULL
SET fact.relation = fact.relation
MERGE (subject)-[twin:$($types[fact.relation]) {fact: fact.id}]->(object)
SET twin = fact {.*, fact: fact.id, id: null, relation_label: null, source: null, load: null, line: null}
