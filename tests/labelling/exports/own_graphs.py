"""A user's own graph of films, its mapping, and labels of the facts that kgprobe has loaded from it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.graph.subgraphs import facts_of
from kgprobe.labelling.table import LabelledFact, LabelTable, write_label_table

FILMS = """
CREATE (matrix:Movie {title: 'The Matrix', released: 1999}), (speed:Movie {title: 'Speed'}),
       (cloud:Movie {title: 'Cloud Atlas'}),
       (keanu:Person {name: 'Keanu Reeves', known_for: 'Neo'}), (lana:Person {name: 'Lana Wachowski'}),
       (halle:Person {name: 'Halle Berry'}), (bond:Contract {signed: '1998'}),
       (keanu)-[:ACTED_IN {roles: ['Neo'], pay: 1.5}]->(matrix), (keanu)-[:ACTED_IN]->(speed),
       (halle)-[:ACTED_IN {roles: []}]->(cloud), (lana)-[:DIRECTED]->(matrix), (lana)-[:DIRECTED]->(cloud),
       (keanu)-[:FOLLOWS]->(halle), (keanu)-[:SIGNED]->(bond), (bond)-[:FOR]->(matrix)
"""
MAPPING = """
[[entities]]
label = "Person"
name = "name"
id = "name"

[[entities]]
label = "Movie"
name = "title"
id = "title"

[[relationship_facts]]
type = "ACTED_IN"
from = ["Person"]
to = ["Movie"]
label = "acted in"

[[relationship_facts]]
type = "DIRECTED"
label = "was directed by"
id = "directed by"
backwards = true

[[node_facts]]
node = "Contract"
id = "contracted for"
subject = { type = "SIGNED", arrow = "in" }
object = { type = "FOR", arrow = "out" }

[[property_facts]]
property = "released"
from = ["Movie"]
"""
CONFIG = {"model": "demo", "ways": ["distractors"]}
BELIEFS = {True: "surely known", False: "leans unknown"}


def content(graph: Graph) -> list[str]:
    """Return all nodes and relationships with their properties."""
    nodes = rows(graph, "MATCH (n) RETURN labels(n) AS l, properties(n) AS p")
    edges = rows(
        graph,
        "MATCH (s)-[r]->(o) RETURN properties(s) AS s, type(r) AS t, properties(o) AS o, properties(r) AS p",
    )
    return sorted(repr(sorted(row.items(), key=str)) for row in [*_sorted(nodes), *_sorted(edges)])


def rows(graph: Graph, cypher: str, **parameters: Any) -> list[dict[str, Any]]:
    """Return the rows of Cypher."""
    return list(graph.run_text(cypher, parameters)[1])


def labelled(graph: Graph) -> list[LabelledFact]:
    """Return labels for all facts of a loaded graph; facts of every second object are known."""
    frame = facts_of(graph).to_frame()
    return [_labelled(number, row) for number, row in enumerate(frame.to_dict("records"))]


def with_varied_labels(facts: Sequence[LabelledFact]) -> list[LabelledFact]:
    """Return labels with probabilities that differ, some of them equal."""
    varied = []
    for number, fact in enumerate(facts):
        known = (number * 37 % 101) / 101
        high = min(1.0, known + 0.05 * (number % 3))
        label = "highly known" if known >= 0.5 else "unknown"
        varied.append(replace(fact, known=known, known_low=max(0.0, known - 0.1), known_high=high, slick=label))
    return varied


def write_table(folder: Path, facts: Sequence[LabelledFact]) -> LabelTable:
    """Write labels as a table."""
    return write_label_table(folder, CONFIG, facts)


def _labelled(number: int, row: dict[Any, Any]) -> LabelledFact:
    known = number % 2 == 0
    return LabelledFact(
        fact=row["fact"],
        subject=row["subject"],
        subject_name=row["subject_label"],
        relation=row["relation"],
        relation_name=row["relation_label"] or row["relation"],
        object=row["object"],
        object_name=row["object_label"],
        basis="asked" if number % 3 else "predicted",
        known=0.9 if known else 0.1 + 0.2,
        known_low=0.7 if known else 0.0,
        known_high=1.0 if known else 0.4,
        belief=BELIEFS[known],
        slick="highly known" if known else "unknown",
        profile=None,
        answers={"distractors": (3 if known else 0, 3)},
    )


def _sorted(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in found:
        yield {key: sorted(value.items()) if isinstance(value, dict) else value for key, value in row.items()}
