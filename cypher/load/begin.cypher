// Where a load stands that was interrupted; a new or a finished one begins at the beginning.
// $id, $source -> stage, position, others: how many other loads the graph has seen
OPTIONAL MATCH (other:Load) WHERE other.id <> $id
WITH count(other) AS others
MERGE (load:Load {id: $id})
SET load.source = $source
SET load.stage = CASE WHEN load.finished = false THEN load.stage ELSE 'relations' END,
    load.position = CASE WHEN load.finished = false THEN load.position ELSE 0 END
SET load.finished = false
RETURN load.stage AS stage, load.position AS position, others
