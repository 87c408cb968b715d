// Set the current label of a relation on its facts. Walks the facts of each subject once.
// $label, $rows: [{subject, facts: {id: true}}], each subject once -> no rows
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[fact:FACT]->()
USING INDEX SEEK subject:Entity(id)
WHERE row.facts[fact.id] IS NOT NULL
SET fact.relation_label = $label
