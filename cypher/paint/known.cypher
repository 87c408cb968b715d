// Paint facts that a run surely knows: a parallel relationship KNOWN with the belief. A type cannot be a parameter, so that each
// type has a file. Three look-ups per fact.
// $beliefs: ['RUN/FACT'], each once -> no rows
UNWIND $beliefs AS id
MATCH (belief:Belief {id: id})
USING INDEX SEEK belief:Belief(id)
MATCH (subject:Entity {id: belief.subject})
USING INDEX SEEK subject:Entity(id)
MATCH (object:Entity {id: belief.object})
USING INDEX SEEK object:Entity(id)
CREATE (subject)-[:KNOWN {run: belief.run, fact: belief.fact, relation: belief.relation_label, theta: belief.theta,
                   low: belief.low, high: belief.high, right: belief.right, wrong: belief.wrong}]->(object)
