// Relations that a run knows least, each with the facts that it most probably fails on. Uses relationships painted by `kgprobe
// beliefs paint`; known is the share of facts with more right answers than wrong ones. Returns painted paths.
// For Neo4j Browser: :params {relations: 3, facts: 10, asked: 5}
// Unless given: {relations: 3, facts: 10, asked: 5}
// Scans painted relationships. $relations: number, $facts: number for each, $asked: minimum number of asked facts of a relation
//   -> relation, asked, known, subject, object, fact_known, right, wrong, fact, path
MATCH ()-[painted:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]->()
WITH painted.relation AS relation, count(*) AS asked, sum(CASE WHEN painted.right > painted.wrong THEN 1 ELSE 0 END) AS right,
     collect(painted) AS of_relation
WHERE asked >= $asked
WITH relation, asked, toFloat(right) / asked AS known, of_relation
ORDER BY known, relation
LIMIT toInteger($relations)
UNWIND of_relation AS painted
WITH relation, asked, known, painted
WHERE type(painted) IN ['UNSURE', 'UNKNOWN', 'FORGOT'] AND painted.wrong >= painted.right
WITH relation, asked, known, painted
ORDER BY painted.theta DESC, painted.fact
WITH relation, asked, known, collect(painted) AS failing
UNWIND failing[0..toInteger($facts)] AS painted
MATCH path = (s:Entity)-[painted]->(o:Entity)
RETURN relation, asked, known, s.label AS subject, o.label AS object, 1 - painted.theta AS fact_known, painted.right AS right,
       painted.wrong AS wrong, painted.fact AS fact, path
ORDER BY known, relation, fact_known, fact
