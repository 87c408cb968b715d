// Index of the labels of entities, for `(:Entity {label: 'France'})`. Only for Neo4j, as a text index: the range index of either engine
// cannot hold long labels.
// no parameters -> no rows
CREATE TEXT INDEX entity_label IF NOT EXISTS FOR (entity:Entity) ON (entity.label)
