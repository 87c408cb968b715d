// Connect beliefs of the run in view with the subjects of their facts, each once. Two look-ups per belief.
// $run, $facts: [id] -> no rows
UNWIND $facts AS fact
MATCH (belief:Belief {id: $run + '/' + fact})
USING INDEX SEEK belief:Belief(id)
MATCH (subject:Entity {id: belief.subject})
USING INDEX SEEK subject:Entity(id)
MERGE (belief)-[:ABOUT]->(subject)
