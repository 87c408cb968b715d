// Relations with all properties, among them the names and templates in each language.
// no parameters -> id, properties
MATCH (relation:Relation)
RETURN relation.id AS id, properties(relation) AS properties
ORDER BY id
