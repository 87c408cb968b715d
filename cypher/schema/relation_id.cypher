// Every relation has one id, and is found by it.
// no parameters -> no rows
CREATE CONSTRAINT relation_id IF NOT EXISTS FOR (relation:Relation) REQUIRE relation.id IS UNIQUE
