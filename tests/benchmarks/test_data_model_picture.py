"""The picture of the data model shows what there is, and the queries of its guide run."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kgprobe
from benchmarks.data_model_picture import EDGES, NODES, picture
from kgprobe.beliefs.painting import PAINTS
from kgprobe.graph.client import Graph
from tests.conftest import REPOSITORY
from tests.results.test_finding import PROPERTIES
from tests.test_documents import blocks_of

GUIDE = REPOSITORY / "docs" / "guides" / "data-model.md"


def test_picture_is_as_it_is_drawn() -> None:
    kept = (REPOSITORY / "docs" / "data-model.svg").read_text(encoding="utf-8")
    assert kept == picture(), "python -m benchmarks.data_model_picture draws it anew"
    texts = [element.text for element in ElementTree.fromstring(kept).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    assert {":Belief", "FACT"} <= set(texts)


def test_picture_shows_labels_and_types_of_queries() -> None:
    written = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (REPOSITORY / "cypher").rglob("*.cypher")
        if path.parent.name != "copy"
    )
    labels = {label for node in NODES for label in re.findall(r":([A-Z]\w+)", " ".join((node.label, *node.about)))}
    own = {"KgprobeCounter", "KgprobeLoad"}
    assert labels | own == set(re.findall(r"(?:MERGE|CREATE) \(\w+:([A-Z][A-Za-z]+)", written)) | {"Literal", "Type"}
    types = {name for edge in EDGES for name in edge.name.split(" · ") if name}
    assert types == set(re.findall(r"(?:MERGE|CREATE) \(\w+\)-\[\w*:([A-Z_]+)", written))
    assert {paint.upper() for paint in PAINTS} < types


@pytest.fixture
def asked(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """The example graph with a run that is sure of a fact."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    kgprobe.load(graph, "example")
    graph.write("beliefs/begin_run", id="run", properties=PROPERTIES | {"id": "run", "started": "2026"})
    belief = (
        "MATCH (s:Entity {label: 'France'})-[f:FACT {relation_label: 'capital'}]->(o) CREATE (:Belief {"
        "id: 'run/' + f.id, run: 'run', fact: f.id, subject: s.id, object: o.id, relation: f.relation, "
        "relation_label: 'capital', theta: 0.9, low: 0.7, high: 0.99, wrong: 3, right: 0, question: '?', "
        "believed: 'surely unknown'})-[:ABOUT]->(s)"
    )
    graph.query(belief)
    graph.query(
        "MATCH (s:Entity {label: 'France'})-[f:FACT {relation_label: 'capital'}]->(), (run:Run {id: 'run'})"
        " SET f.alpha = 9.0, f.beta = 1.0, f.theta = 0.9, f.belief = 'surely unknown', run.inView = true"
    )
    graph.write(
        "judge/keep", id="whole", properties={}, rows=[{"relation": "P36", "properties": {"facts": 3, "correct": 0.5}}]
    )
    return graph


def test_queries_of_the_guide_find_something(asked: Graph) -> None:
    queries = blocks_of(GUIDE, "cypher")
    assert len(queries) >= 6
    assert [query.text for query in queries if asked.query(query.text).to_frame().empty] == []
