// Label entities by their share of unknown facts, for colours in Neo4j Browser. Only for Neo4j.
// $label: MostlyKnown, HalfKnown or MostlyUnknown, $rows: [{id, share}] -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
USING INDEX SEEK entity:Entity(id)
SET entity:$($label), entity.unknown_share = row.share
