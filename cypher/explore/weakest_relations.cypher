// The relations that a run knows least, and of each the facts that it most probably fails on. Of what `kgprobe beliefs paint` drew;
// known is the share of facts with more right answers than wrong ones. Paths of what was painted.
// For Neo4j Browser: :params {relations: 3, facts: 10, asked: 5}
// Unless given: {relations: 3, facts: 10, asked: 5}
// Scans what was painted, twice. $relations: how many, $facts: of each, $asked: how many facts of a relation were asked at least
//   -> relation, asked, known, subject, object, theta, right, wrong, fact, path
MATCH (:Entity)-[painted:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]->(:Entity)
WITH painted.relation AS relation, count(*) AS asked,
     avg(CASE WHEN painted.right > painted.wrong THEN 1.0 ELSE 0.0 END) AS known
WHERE asked >= $asked
WITH relation, asked, known
ORDER BY known, relation
LIMIT toInteger($relations)
MATCH path = (s:Entity)-[painted:UNSURE|UNKNOWN|FORGOT]->(o:Entity)
WHERE painted.relation = relation AND painted.wrong >= painted.right
WITH relation, asked, known, s, o, painted, path
ORDER BY painted.theta DESC, painted.fact
WITH relation, asked, known,
     collect({subject: s.label, object: o.label, theta: painted.theta, right: painted.right, wrong: painted.wrong, fact: painted.fact, path: path}) AS all_of_it
UNWIND all_of_it[0..toInteger($facts)] AS one
RETURN relation, asked, known, one.subject AS subject, one.object AS object, one.theta AS theta, one.right AS right,
       one.wrong AS wrong, one.fact AS fact, one.path AS path
ORDER BY known, relation, theta DESC, fact
