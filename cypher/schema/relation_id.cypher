// Unique id of a relation, with an index.
// no parameters -> no rows
CREATE CONSTRAINT relation_id IF NOT EXISTS FOR (relation:Relation) REQUIRE relation.id IS UNIQUE
