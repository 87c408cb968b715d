// Index of the relations by label.
// no parameters -> no rows
CREATE INDEX relation_label IF NOT EXISTS FOR (relation:Relation) ON (relation.label)
