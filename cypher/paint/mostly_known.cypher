// Label entities at most a third of whose asked facts are unknown, for colours in Neo4j Browser.
// $rows: [{id, share}] with the share of unknown facts -> no rows
UNWIND $rows AS row
MATCH (entity:Entity {id: row.id})
USING INDEX SEEK entity:Entity(id)
SET entity:MostlyKnown, entity.unknown_share = row.share
