// Relations are found by their labels.
// no parameters -> no rows
CREATE INDEX relation_label IF NOT EXISTS FOR (relation:Relation) ON (relation.label)
