// Connect new beliefs with their run, and store the labels of their facts' ends, also as a caption.
// $run, $facts: [id] -> no rows
MATCH (run:Run {id: $run})
UNWIND $facts AS fact
MATCH (belief:Belief {id: $run + '/' + fact})
USING INDEX SEEK belief:Belief(id)
WHERE belief.subject_label IS NULL
MATCH (subject:Entity {id: belief.subject})
USING INDEX SEEK subject:Entity(id)
MATCH (object:Entity {id: belief.object})
USING INDEX SEEK object:Entity(id)
CREATE (run)-[:BELIEVES]->(belief)
SET belief.subject_label = coalesce(subject.label, ''), belief.object_label = coalesce(object.label, ''),
    belief.caption = coalesce(subject.label, subject.id) + ' – ' + coalesce(object.label, object.id)
