"""A graph with 100,000 beliefs, written by Neo4j itself: as large as a query for people has to work on."""

from kgprobe.graph.client import Graph, apply_schema
from tests.servers.shared import wipe

ENTITIES = 20_000
FACTS = 100_000
BELIEFS_OF_A_RUN = 34_000
RUNS = ("first", "second", "third")
_AT_ONCE = 20_000

_RELATIONS = """
UNWIND range(0, 9) AS i
CREATE (:Relation {id: 'R' + i, label: 'relation ' + i, active: true})
"""
_ENTITIES = """
UNWIND range($first, $last) AS i
CREATE (:Entity {id: 'E' + i, number: i, label: 'name ' + i, aliases: ['also ' + i], degree: 10, popularity: i % 100.0})
"""
# Every tenth fact has ended; entity 0 is the object of a fact in twenty.
_FACTS = """
UNWIND range($first, $last) AS i
MATCH (s:Entity {id: 'E' + (i % $entities)})
MATCH (o:Entity {id: CASE i % 20 WHEN 7 THEN 'E0' ELSE 'E' + (i * 7919 % $entities) END})
CREATE (s)-[f:FACT {id: 'F' + i, relation: 'R' + (i % 10), relation_label: 'relation ' + (i % 10), rank: 'normal'}]->(o)
SET f.until = CASE WHEN i % 10 = 3 THEN 20000101 ELSE null END
"""
_OBJECTS = """
MATCH (o:Entity)<-[f:FACT]-()
WITH DISTINCT o, f.relation AS relation
MATCH (r:Relation {id: relation})
CREATE (o)-[:OBJECT_OF]->(r)
"""
_RUN = """
CREATE (:Run {id: $run, model: 'model ' + $run, probe: 'distractors', started: '2026-01-01T00:00:00+00:00', round: 1,
              asked: $beliefs, as_of: 20200101, relations: ['R' + 0, 'R1', 'R2', 'R3'], variance_mean: 4.0,
              variance_popularity: 0.25, variance_relation: 1.0, variance_entity: 0.5, variance_fact: 0.75,
              popularity_mean: 3.0, popularity_spread: 1.5})
"""
_BELIEFS = """
UNWIND range($first, $last) AS i
MATCH (s:Entity)-[f:FACT {id: 'F' + i}]->(o:Entity)
WITH s, f, o, i, i % 3 = 0 AS fails
CREATE (:Belief {id: $run + '/' + f.id, run: $run, model: 'model ' + $run, fact: f.id, subject: s.id, object: o.id,
                 relation: f.relation, relation_label: f.relation_label,
                 right: CASE WHEN fails THEN 0 ELSE 2 END, wrong: CASE WHEN fails THEN 2 ELSE 0 END,
                 theta: CASE WHEN fails THEN 0.8 ELSE 0.2 END,
                 low: CASE WHEN fails THEN 0.55 ELSE 0.05 END, high: CASE WHEN fails THEN 0.95 ELSE 0.45 END,
                 believed: CASE WHEN fails THEN 'surely unknown' ELSE 'surely known' END})
"""
_EFFECTS = """
UNWIND range(0, $entities / 2) AS i
CREATE (:Effect {id: $run + '/entity/E' + i, run: $run, kind: 'entity', of: 'E' + i, precision: 1.0,
                 shift: i % 7 / 7.0})
"""
_VIEW = """
MATCH (:Entity)-[f:FACT]->(:Entity)
WITH f, toInteger(substring(f.id, 1)) AS i
WITH f, i, i % 3 = 0 AS fails, i < $beliefs AS asked
SET f.theta = CASE WHEN fails THEN 0.8 ELSE 0.2 END, f.asked = asked,
    f.belief = CASE WHEN NOT asked THEN 'not asked' WHEN fails THEN 'surely unknown' ELSE 'surely known' END
"""
_JUDGED_GRAPH = """
CREATE (judged_graph:JudgedGraph {id: 'judged', model: 'model', kept: '2026-01-01T00:00:00+00:00'})
WITH judged_graph
MATCH (r:Relation)
CREATE (judged_graph)-[:JUDGED {facts: 10, correct: 0.5, truthful: 0.5, informative: 0.5}]->(r)
"""
# Facts are looked up by their ids while the graph is written, which no query does.
_FACT_INDEX = "CREATE INDEX fact_id IF NOT EXISTS FOR ()-[f:FACT]-() ON (f.id)"


def build_large_world(graph: Graph) -> None:
    """Replace all that a graph of Neo4j holds with the large world."""
    wipe(graph)
    apply_schema(graph)
    graph.query(_FACT_INDEX)
    graph.query(_RELATIONS)
    for first in range(0, ENTITIES, _AT_ONCE):
        graph.query(_ENTITIES, first=first, last=first + _AT_ONCE - 1)
    for first in range(0, FACTS, _AT_ONCE):
        graph.query(_FACTS, first=first, last=first + _AT_ONCE - 1, entities=ENTITIES)
    graph.query(_OBJECTS)
    graph.query(_JUDGED_GRAPH)
    graph.write("bulk/await_indexes", seconds=300)
    for run in RUNS:
        graph.query(_RUN, run=run, beliefs=BELIEFS_OF_A_RUN)
        for first in range(0, BELIEFS_OF_A_RUN, _AT_ONCE):
            graph.query(_BELIEFS, run=run, first=first, last=min(first + _AT_ONCE, BELIEFS_OF_A_RUN) - 1)
        graph.query(_EFFECTS, run=run, entities=ENTITIES)
    graph.query(_VIEW, beliefs=BELIEFS_OF_A_RUN)
    graph.query("MATCH (run:Run {id: $run}) SET run.inView = true", run=RUNS[0])
    graph.query("DROP INDEX fact_id")
