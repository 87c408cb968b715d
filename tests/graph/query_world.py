"""The graph of the query contract: one small graph in which every query has rows to find and rows to leave out.

Records are loaded by the product's own loader. Runs, beliefs, effects, painted relationships and judged graphs are
written by plain Cypher, so that a fault in one query does not change what all the others find.
"""

from typing import Any

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from tests.graph.servers.shared import wipe
from tests.written_source import WrittenSource

# "kind" is a type that no record describes: it has neither a label nor a number.
ENTITIES = [
    Entity("country", "country", types=("kind",)),
    Entity("city", "city"),
    Entity("place", "place"),
    Entity("person", "person"),
    Entity("fr", "France", ("French Republic",), "in Europe", ("country",), 50.0),
    Entity("de", "Germany", ("Bundesrepublik", "BRD"), types=("country",), popularity=60.0),
    Entity("it", "Italy", types=("country",)),
    Entity("pa", "Paris", ("City of Light",), types=("city",), popularity=40.0),
    Entity("bo", "Bonn", types=("city",)),
    Entity("be", "Berlin", ("Athens on the Spree",), types=("city",), popularity=30.0),
    # Namesakes of Paris: by the label, by an alias, and by an alias that is its label.
    Entity("pt", "Paris", ("Paris, Texas",), types=("city",)),
    Entity("lu", "Lutetia", ("City of Light",), types=("city",)),
    Entity("po", "Paros", ("Paris", "Minoa"), types=("place",)),
    Entity("x0", "", ("Nameless",), types=("city",)),
    Entity("ro", "Rome", ("Roma",), types=("city", "place"), popularity=20.0),
    Entity("tu", "Turin", types=("city",)),
    Entity("fl", "Florence", ("Firenze",), types=("city",)),
    Entity("ve", "Versailles", types=("city",)),
    Entity("ada", "Ada", ("Countess",), "mathematician", ("person",), 5.0),
    Entity("ben", "Ben"),
    Entity("cyd", "Cyd", ("Tula",)),
    Entity("1990", "1990", value="1990", datatype="year"),
    Entity("1995", "1995", value="1995", datatype="year"),
    Entity("12", "12", value="12", datatype="integer"),
    Entity("alone", "Alone", types=("person",)),
    Entity("y0", types=("city",)),
]
RELATIONS = [
    Relation(
        "capital",
        "capital",
        ("seat",),
        "seat of government",
        clozes=("The capital of [X] is [Y]",),
        past_clozes=("The capital of [X] was [Y]",),
        mined_clozes=("[X] , whose capital [Y]",),
        statements=("[Y] is the capital of [X].",),
        yes_no_questions=("Is [Y] the capital of [X]?",),
        wh_questions=("What is the capital of [X]?",),
        sentences=("[X] has [Y].",),
        reverse_clozes=("[Y] is the capital of [X]",),
        reverse_past_clozes=("[Y] was the capital of [X]",),
        reverse_wh_questions=("What has the capital [Y]?",),
        answers=("be", "pa", "missing"),
    ),
    Relation("borders", "shares border with"),
    Relation("knows", "knows"),
    Relation("lives", "lives in", answers=("ro",)),
    Relation("founded", "founded in", active=False),
    Relation("age", ""),
    Relation("unused", "unused"),
]
# "P99" is a relation that no record describes.
FACTS = [
    Fact("c1", "fr", "capital", "pa", rank="preferred"),
    Fact("c2", "de", "capital", "bo", start="1949-05", end="1990"),
    Fact("c3", "de", "capital", "be", start="1990"),
    Fact("c4", "it", "capital", "ro", start="1871"),
    Fact("c5", "it", "capital", "tu", start="1861", end="1865"),
    Fact("c6", "it", "capital", "fl", start="1865", end="unknown"),
    Fact("c7", "fr", "capital", "ve", start="2030"),
    Fact("b1", "fr", "borders", "de"),
    Fact("b2", "de", "borders", "fr"),
    Fact("b3", "fr", "borders", "it", start="1861"),
    Fact("b4", "it", "borders", "fr"),
    Fact("b5", "x0", "borders", "fr"),
    Fact("b6", "pt", "borders", "x0"),
    Fact("b7", "fr", "borders", "de", start="1900", end="1910"),
    Fact("b8", "it", "borders", "de", end="1900"),
    Fact("k1", "ada", "knows", "ben"),
    Fact("k2", "ben", "knows", "ada"),
    Fact("k3", "ben", "knows", "cyd", end="2000"),
    Fact("k4", "ada", "knows", "ada"),
    Fact("k5", "cyd", "knows", "ben", end="2020-01-01"),
    Fact("l1", "ada", "lives", "pa", start="2020-01-01"),
    Fact("l2", "ada", "lives", "ro", end="2010"),
    Fact("l3", "ben", "lives", "pt"),
    Fact("l4", "cyd", "lives", "be"),
    Fact("l5", "ben", "lives", "lu", end="2005"),
    Fact("y1", "fr", "founded", "1995"),
    Fact("y2", "fr", "founded", "1990"),
    Fact("y3", "de", "founded", "1995"),
    Fact("a1", "ada", "age", "12"),
    Fact("p1", "fr", "P99", "de"),
    Fact("p2", "fr", "P99", "kind", end="2000"),
    Fact("p3", "fr", "P99", "it", end="1995-05"),
]

# "also" and "second" began at the same time: the id decides which is the last.
RUNS: list[dict[str, Any]] = [
    {"id": "second", "model": "m2", "started": "2026-01-02T00:00:00+00:00", "round": 2, "asked": 9}
    | {"variance_mean": 4.0, "variance_popularity": 0.25, "variance_relation": 1.0, "variance_entity": 0.5}
    | {"variance_fact": 0.75, "popularity_mean": 3.0, "popularity_spread": 1.5, "settled": 1},
    {"id": "first", "model": "m1", "started": "2026-01-01T00:00:00+00:00", "round": 1, "asked": 8, "unanswered": 1},
    {"id": "also", "model": "m1", "started": "2026-01-02T00:00:00+00:00", "round": 0},
]
RUN = {"as_of": 20200101, "probe": "distractors", "rounds": 4, "relations": ["capital", "borders", "knows", "lives"]}

# Per run and fact: right and wrong answers, alpha, beta, the interval of theta, and the question.
BELIEFS = [
    ("second", "c1", 4, 0, 1.0, 5.0, 0.02, 0.45, "The capital of France is"),
    ("second", "c3", 0, 4, 5.0, 1.0, 0.55, 0.98, "The capital of Germany is"),
    ("second", "c4", 1, 3, 4.0, 2.0, 0.34, 0.92, None),
    ("second", "b1", 5, 1, 2.0, 6.0, 0.05, 0.5, "France borders"),
    ("second", "b2", 1, 5, 6.0, 2.0, 0.5, 0.95, None),
    ("second", "b3", 3, 1, 2.0, 4.0, 0.08, 0.66, None),
    ("second", "k1", 2, 2, 3.0, 3.0, 0.19, 0.81, None),
    ("second", "k4", 0, 1, 2.0, 1.0, 0.34, 0.97, None),
    ("second", "l1", 1, 0, 1.0, 2.0, 0.03, 0.78, None),
    # Reached by propagation alone; one that could not be asked; one with a wrong answer that neighbours outweigh.
    ("second", "b4", 0, 0, 1.0, 4.0, 0.02, 0.52, None),
    ("second", "b6", 0, 0, 3.0, 1.0, 0.37, 0.98, None),
    ("second", "l4", 0, 1, 2.0, 4.0, 0.08, 0.4, None),
    ("second", "l3", 1, 0, 4.0, 2.0, 0.6, 0.92, None),
    ("first", "c1", 5, 0, 1.0, 6.0, 0.01, 0.4, "The capital of France is"),
    ("first", "c3", 0, 3, 4.0, 1.0, 0.51, 0.97, "Berlin is the capital of"),
    ("first", "c4", 3, 0, 1.0, 4.0, 0.02, 0.49, None),
    ("first", "b1", 0, 2, 3.0, 1.0, 0.4, 0.98, None),
    ("first", "b2", 2, 0, 1.0, 3.0, 0.02, 0.65, None),
    ("first", "c2", 3, 1, 2.0, 4.0, 0.1, 0.65, None),
    ("first", "k1", 0, 0, 1.0, 2.0, 0.03, 0.78, None),
    # As many right as wrong answers; theta at one half; a relation that the graph does not describe.
    ("first", "k2", 1, 1, 1.0, 5.0, 0.02, 0.4, None),
    ("first", "k5", 1, 1, 5.0, 1.0, 0.6, 0.95, None),
    ("first", "l1", 1, 2, 3.0, 3.0, 0.2, 0.8, None),
    ("first", "l2", 2, 1, 3.0, 3.0, 0.2, 0.8, None),
    ("first", "q1", 3, 0, 1.0, 4.0, 0.02, 0.5, None),
    ("also", "q1", 0, 3, 4.0, 1.0, 0.55, 0.97, None),
    ("also", "c1", 2, 0, 1.0, 3.0, 0.02, 0.63, None),
    ("also", "p1", 0, 2, 3.0, 1.0, 0.6, 0.98, None),
]
UNASKABLE = {"second/b6": "its object has no name", "second/k4": "not in this probe's form"}
REFUSED = {"second/c3": (2, 1), "first/c3": (0, 1)}
# All others lean; first/c4 too, whose answers a guesser would have by luck.
SURE = {
    **dict.fromkeys(("second/c1", "first/c1"), "surely known"),
    **dict.fromkeys(("second/c3", "first/c3", "also/q1", "also/p1"), "surely unknown"),
}
CHANCES = {"second/c1": [0.1] * 4, "second/c3": [0.25, 0.5, 0.25, 0.5], "first/c4": [0.5] * 3}

# Per run, kind and id: the precision, and the precision times the mean.
EFFECTS = [
    ("second", "mean", "", 3.0, 1.5),
    ("second", "popularity", "", 2.0, -0.5),
    ("second", "relation", "capital", 1.25, 0.5),
    ("second", "relation", "borders", 2.5, -1.0),
    ("second", "relation", "knows", 0.75, 0.4),
    ("second", "entity", "fr", 2.0, -1.0),
    ("second", "entity", "de", 1.5, 1.25),
    ("second", "entity", "it", 4.0, 1.75),
    ("second", "entity", "ada", 0.5, 0.5),
    ("second", "entity", "pa", 1.0, -0.75),
    ("second", "entity", "ben", 0.25, 0.1),
    ("also", "entity", "ro", 1.0, 1.0),
    ("also", "mean", "", 1.0, 1.0),
]

# Per type and run: a fact, theta, right and wrong answers.
PAINTED = [
    ("KNOWN", "second", "c1", 0.17, 4, 0),
    ("KNOWN", "second", "l1", 0.3, 3, 1),
    ("KNOWN", "second", "c2", 0.4, 3, 2),
    ("KNOWN", "second", "l3", 0.35, 4, 2),
    ("LEARNED", "second", "b1", 0.25, 5, 1),
    ("LEARNED", "second", "k1", 0.1, 9, 0),
    ("UNKNOWN", "second", "c3", 0.83, 0, 4),
    ("UNKNOWN", "second", "l4", 0.7, 0, 1),
    ("LEANS_UNKNOWN", "second", "c4", 0.67, 1, 3),
    ("LEANS_KNOWN", "second", "b3", 0.45, 2, 2),
    ("LEANS_KNOWN", "second", "p1", 0.48, 3, 2),
    ("FORGOT", "second", "b2", 0.75, 1, 5),
    ("FORGOT", "second", "k5", 0.9, 1, 5),
    ("FORGOT", "second", "k3", 0.9, 1, 5),
    ("LEANS_UNKNOWN", "first", "c7", 0.6, 1, 2),
    ("KNOWN", "first", "b4", 0.2, 4, 0),
]

JUDGED_GRAPHS = [
    {"id": "judged-1", "model": "m1", "kept": "2026-02-01T00:00:00+00:00"},
    {"id": "judged-2", "model": "m2", "kept": "2026-02-02T00:00:00+00:00"},
]
JUDGED: list[dict[str, Any]] = [
    {"graph": "judged-1", "relation": "capital", "facts": 4, "correct": 0.75, "truthful": 0.8, "informative": 0.9},
    {"graph": "judged-2", "relation": "capital", "facts": 4, "correct": 0.5, "truthful": 0.55, "informative": 0.95}
    | {"correct_low": 0.4, "correct_high": 0.6},
    {"graph": "judged-2", "relation": "knows", "facts": 5, "correct": 0.25, "truthful": 0.2, "informative": 0.8},
    {"graph": "judged-2", "relation": "borders", "facts": 6, "correct": 0.25, "truthful": 0.3, "informative": 0.85},
]

WRITE_RUNS = "UNWIND $rows AS row CREATE (run:Run {id: row.id}) SET run += row"
WRITE_BELIEFS = """
UNWIND $rows AS row
MATCH (s:Entity)-[fact:FACT {id: row.fact}]->(o:Entity)
CREATE (belief:Belief {id: row.id})
SET belief += row, belief.subject = s.id, belief.object = o.id, belief.relation = fact.relation,
    belief.relation_label = fact.relation_label
"""
WRITE_EFFECTS = "UNWIND $rows AS row CREATE (effect:KgprobeEffect {id: row.id}) SET effect += row"
WRITE_JUDGED_GRAPHS = (
    "UNWIND $rows AS row CREATE (judged_graph:KgprobeJudgedGraph {id: row.id}) SET judged_graph += row"
)
WRITE_JUDGED = """
UNWIND $rows AS row
MATCH (judged_graph:KgprobeJudgedGraph {id: row.graph}), (relation:Relation {id: row.relation})
CREATE (judged_graph)-[judged:JUDGED]->(relation)
SET judged += row.properties
"""
# A type of relationship cannot be a parameter.
WRITE_PAINTED = """
UNWIND $rows AS row
MATCH (s:Entity)-[fact:FACT {{id: row.fact}}]->(o:Entity)
CREATE (s)-[painted:{type}]->(o)
SET painted += row, painted.relation = fact.relation_label
"""
# Graphs that another program made lack properties and links. The loader draws the graph's own name at random.
WRITE_OTHER_FACT = """
MATCH (s:Entity {id: 'ada'}), (o:Entity {id: 'be'})
CREATE (s)-[:FACT {id: 'q1', relation: 'Q99', relation_label: 'undescribed'}]->(o)
"""
WRITE_REST = """
MATCH (counter:KgprobeCounter {id: 'entities'}), (turin:Entity {id: 'tu'}), (cyd:Entity {id: 'cyd'})
MATCH (unnamed:Entity {id: 'y0'}), (:Entity {id: 'de'})-[fact:FACT {id: 'b2'}]->(:Entity)
MATCH (world:KgprobeLoad {id: 'world-1'})
SET world.time = '2026-01-01T00:00:00+00:00'
SET counter.uid = 'uid-of-world', turin.aliases = null, cyd.types = null, unnamed.label = null, fact.rank = null
CREATE (:KgprobeLoad {id: 'cut', source: 'cut off', stage: 'entities', position: 7, finished: false})
"""


def build_world(graph: Graph) -> None:
    """Replace all that a graph holds with the world of the contract."""
    wipe(graph)
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS, name="world", fingerprint="world-1"))
    graph.query(WRITE_OTHER_FACT)
    graph.query(WRITE_REST)
    _write(graph, WRITE_RUNS, [RUN | run for run in RUNS])
    _write(graph, WRITE_BELIEFS, _belief_rows())
    _write(graph, WRITE_EFFECTS, _effect_rows())
    _write(graph, WRITE_JUDGED_GRAPHS, JUDGED_GRAPHS)
    _write(graph, WRITE_JUDGED, [_judged_row(**judged) for judged in JUDGED])
    for type_ in dict.fromkeys(painted[0] for painted in PAINTED):
        rows = [_painted_row(*painted[1:]) for painted in PAINTED if painted[0] == type_]
        _write(graph, WRITE_PAINTED.format(type=type_), rows)


def _write(graph: Graph, text: str, rows: list[dict[str, Any]]) -> None:
    graph.query(text, rows=rows)


def _belief_rows() -> list[dict[str, Any]]:
    models = {run["id"]: run["model"] for run in RUNS}
    rows = []
    for run, fact, right, wrong, alpha, beta, low, high, question in BELIEFS:
        id_ = f"{run}/{fact}"
        row = {"id": id_, "run": run, "model": models[run], "fact": fact, "right": right, "wrong": wrong}
        theta = alpha / (alpha + beta)
        row |= {"alpha": alpha, "beta": beta, "theta": theta, "low": low, "high": high}
        if question is not None:
            row["question"] = question
        if id_ in UNASKABLE:
            row["unaskable"] = UNASKABLE[id_]
        if id_ in REFUSED:
            row["refused"], row["off_format"] = REFUSED[id_]
        known = right > wrong if right + wrong else theta < 0.5
        row |= {"believed": SURE.get(id_, "leans known" if known else "leans unknown"), "chances": CHANCES.get(id_, [])}
        rows.append(row)
    return rows


def _effect_rows() -> list[dict[str, Any]]:
    return [
        {"id": f"{run}/{kind}/{of}", "run": run, "kind": kind, "of": of, "precision": precision, "shift": shift}
        for run, kind, of, precision, shift in EFFECTS
    ]


def _judged_row(graph: str, relation: str, **properties: Any) -> dict[str, Any]:
    return {"graph": graph, "relation": relation, "properties": properties}


def _painted_row(run: str, fact: str, theta: float, right: int, wrong: int) -> dict[str, Any]:
    interval = {"low": theta - 0.1, "high": theta + 0.1}
    return {"run": run, "fact": fact, "theta": theta, "right": right, "wrong": wrong} | interval
