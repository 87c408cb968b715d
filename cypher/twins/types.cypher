// Types of twins by relation; no row for a graph without twins. One look-up.
// no parameters -> relations: ids, types
MATCH (counter:KgprobeCounter {id: 'entities'})
WHERE counter.twin_types IS NOT NULL
RETURN counter.twin_relations AS relations, counter.twin_types AS types
