// Mark entities as literals.
// $ids: [id] of existing entities -> no rows
UNWIND $ids AS id
MATCH (literal:Entity {id: id})
USING INDEX SEEK literal:Entity(id)
WITH literal WHERE NOT literal:Literal
SET literal:Literal
