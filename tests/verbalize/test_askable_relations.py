"""Relations without templates, asked by generic templates."""

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.reversal import Reversal, mark_reversal
from kgprobe.probes.clozes import ClozeItems
from kgprobe.probes.questions.items import QuestionItems
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.askable_relations import askable_relations
from tests.written_source import WrittenSource

AS_OF = 20260101
HUMAN, WRITER = Entity("h", "human"), Entity("w", "writer")
BOOKS = [Entity("emma", "Emma"), Entity("ulysses", "Ulysses"), Entity("epic", "epic poem")]
PEOPLE = [Entity("jane", "Jane Austen", types=("h",)), Entity("james", "James Joyce", types=("h", "w"))]
RELATIONS = [
    Relation("P50", "author"),
    Relation("P136", "genre", clozes=("[X] belongs to the genre [Y]",)),
    Relation("P9"),
    Relation("P8", "hidden", active=False),
]
FACTS = [
    Fact("f0", "emma", "P50", "jane"),
    Fact("f1", "ulysses", "P50", "james"),
    Fact("f2", "emma", "P136", "epic"),
    Fact("f3", "emma", "P50", "james", end="1999"),
]


@pytest.fixture
def books(graph: Graph) -> Graph:
    load(graph, WrittenSource([HUMAN, WRITER, *BOOKS, *PEOPLE], FACTS, RELATIONS))
    return graph


def test_relations_without_templates_get_generic_ones(books: Graph) -> None:
    rows = askable_relations(books, ["clozes"])
    assert {relation: (row["clozes"], row["generic"]) for relation, row in rows.items()} == {
        "P136": (["[X] belongs to the genre [Y]"], False),
        "P50": (["The author of [X] is [Y]"], True),
    }
    questions = askable_relations(books, ["yes_no_questions"])
    assert questions["P50"]["wh_questions"] == ["Who is the author of [X]?"]
    # A kind that the relation has is kept.
    assert questions["P136"]["clozes"] == ["[X] belongs to the genre [Y]"]
    assert questions["P136"]["wh_questions"] == ["What is the genre of [X]?"]
    assert not any(row["generic"] for row in askable_relations(books).values())


@pytest.mark.parametrize("relation", ["P9", "P8"])
def test_relations_without_label_or_inactive_are_not_asked(books: Graph, relation: str) -> None:
    with pytest.raises(UnknownNameError, match=relation):
        askable_relations(books, ["clozes"], [relation])


def test_mined_clozes_have_no_generic_ones(books: Graph) -> None:
    with pytest.raises(UnknownNameError, match="P50"):
        askable_relations(books, ["mined_clozes"], ["P50"])


def test_generic_sentences_are_marked_in_the_settings(books: Graph) -> None:
    items = ClozeItems(books, AS_OF)
    assert items.describe()["generic"] == ["P50"]
    current, ended = items.of([FactKey("emma", "f0"), FactKey("emma", "f3")], [0])
    assert [cloze.prompt for cloze in current.clozes] == ["The author of Emma is"]
    assert [cloze.prompt for cloze in ended.clozes] == ["The author of Emma was"]
    assert "generic" not in ClozeItems(books, AS_OF, relations=["P136"]).describe()
    questions = QuestionItems(books, AS_OF)
    assert questions.describe()["generic"] == ["P136", "P50"]
    texts = {question.text for seed in range(8) for question in questions.of([FactKey("ulysses", "f1")], [seed])}
    assert {"Who is the author of Ulysses?", "Is James Joyce the author of Ulysses?"} <= texts


def test_inverse_graph_gets_turned_templates(graph: Graph) -> None:
    mark_reversal(graph, Reversal("state", 1.0, ()), "inverse")
    facts = [Fact("f0", "paris", "P36", "france")]
    relations = [Relation("P36", "capital"), Relation("P361", "part of")]
    load(graph, WrittenSource([Entity("paris", "Paris"), Entity("france", "France")], facts, relations))
    # The subject is the capital here; "The capital of Paris is France" would be wrong.
    assert {relation: row["clozes"] for relation, row in askable_relations(graph, ["clozes"]).items()} == {
        "P36": ["[X] is the capital of [Y]"]
    }
