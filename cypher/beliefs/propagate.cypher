// Propagate the answers of asked facts to every askable fact that shares an entity with them, one step far. Entities with more than
// $max_degree facts are skipped: their answers say little about single facts, and would change very many. beliefs/summarize writes
// the interval and the word.
// $run, $round, $model, $relations: [id], $labels: {id of a relation: its label}, $as_of: yyyymmdd, $max_degree, $later: [id],
//   facts that are left out: loaded after the run began, $rows: [{subject, fact, right, wrong}]
//   -> subject, fact, alpha, beta, right, wrong, chances, unaskable: true if it could not be asked,
//      untied: true for a new belief, see beliefs/tie
UNWIND $rows AS row
MATCH (subject:Entity {id: row.subject})-[asked:FACT {id: row.fact}]->(object:Entity)
USING INDEX SEEK subject:Entity(id)
UNWIND [subject, object] AS shared
WITH DISTINCT row, shared
WHERE shared.degree <= $max_degree
MATCH (shared)-[fact:FACT]-()
WHERE fact.id <> row.fact AND NOT fact.id IN $later AND fact.relation IN $relations
  AND coalesce(fact.from, $as_of) <= $as_of AND coalesce(fact.until, $as_of) >= $as_of AND fact.ended IS NULL
WITH DISTINCT row, fact
WITH fact, sum(row.wrong) AS wrong, sum(row.right) AS right
WITH fact, wrong, right, startNode(fact) AS subject, endNode(fact) AS object
WHERE subject.label <> '' AND object.label <> ''
MERGE (belief:Belief {id: $run + '/' + fact.id})
ON CREATE SET belief.run = $run, belief.model = $model, belief.fact = fact.id, belief.subject = subject.id,
              belief.object = object.id, belief.relation = fact.relation, belief.relation_label = $labels[fact.relation],
              belief.alpha = 1.0, belief.beta = 1.0, belief.right = 0, belief.wrong = 0, belief.chances = []
SET belief.round = $round, belief.alpha = belief.alpha + wrong, belief.beta = belief.beta + right
RETURN subject.id AS subject, fact.id AS fact, belief.alpha AS alpha, belief.beta AS beta,
       belief.right AS right, belief.wrong AS wrong, belief.chances AS chances, belief.unaskable IS NOT NULL AS unaskable,
       belief.subject_label IS NULL AS untied
