// Store the types of twins by relation, before the first twin is written; null after the last one is removed.
// $relations: ids, $types: the type of each; without relations, facts get no more twins -> no rows
MATCH (counter:KgprobeCounter {id: 'entities'})
SET counter.twin_relations = $relations, counter.twin_types = $types
