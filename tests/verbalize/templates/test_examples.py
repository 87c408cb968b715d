"""Relations, facts to fill their templates with, and checks of a graph, on both engines."""

from dataclasses import replace

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.verbalize.templates.check import check_graph
from kgprobe.verbalize.templates.examples import (
    ExampleFact,
    FilledTemplate,
    examples_of,
    filled_templates,
    relations_of,
)
from tests.written_source import WrittenSource

CAPITAL = Relation(
    "P36",
    "capital",
    ("seat",),
    "seat of a government",
    clozes=("The capital of [X] is [Y]",),
    past_clozes=("The capital of [X] was [Y]",),
    statements=("[Y] is the capital of [X].",),
    yes_no_questions=("Is [Y] the capital of [X]?",),
    wh_questions=("What is the capital of [X]?",),
)
BORDER = Relation("P47", "shares border with", clozes=("[X] borders the [Y]",))
SOURCE = WrittenSource(
    relation_records=[CAPITAL, BORDER, Relation("P30", "continent")],
    entity_records=[
        *(Entity(f"C{n}", name) for n, name in enumerate(["France", "Germany", "Netherlands", "Nowhere"])),
        *(Entity(f"T{n}", name) for n, name in enumerate(["Paris", "Berlin", "Bonn", ""])),
    ],
    fact_records=[
        Fact("f0", "C0", "P36", "T0"),
        Fact("f1", "C1", "P36", "T1", start="1990-10-03"),
        Fact("f2", "C1", "P36", "T2", start="1949", end="1990"),
        Fact("f3", "C3", "P36", "T3"),
        Fact("f4", "C3", "P36", "T0"),
        Fact("f5", "C3", "P36", "T1"),
        *(Fact(f"b{n}", f"C{n}", "P47", "C2") for n in (0, 1, 2, 3)),
        Fact("b4", "C0", "P47", "C1"),
        Fact("b5", "C1", "P47", "C0"),
    ],
)


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, SOURCE)
    return graph


def test_relations_come_back_as_they_were_loaded(loaded: Graph) -> None:
    continent, capital, border = (
        replace(relation, active=True) for relation in (Relation("P30", "continent"), CAPITAL, BORDER)
    )
    assert relations_of(loaded) == [continent, capital, border]
    assert relations_of(loaded, ["P47", "P36", "P47"]) == [border, capital]
    with pytest.raises(UnknownNameError, match="No relation of this graph is called 'P9'"):
        relations_of(loaded, ["P36", "P9", "P8"])


def test_examples_are_facts_with_names(loaded: Graph) -> None:
    assert examples_of(loaded, "P36", 2024_01_01) == [
        ExampleFact("f1", "Germany", "Berlin", 5, "1990-10-03", None, 1),
        ExampleFact("f2", "Germany", "Bonn", 5, "1949", "1990", 1),
        ExampleFact("f0", "France", "Paris", 4, None, None, 1),
        ExampleFact("f4", "Nowhere", "Paris", 4, None, None, 3),
        ExampleFact("f5", "Nowhere", "Berlin", 4, None, None, 3),
    ]
    assert examples_of(loaded, "P30", 2024_01_01) == []
    # Three for each object.
    borders = [example.object for example in examples_of(loaded, "P47", 2024_01_01)]
    assert sorted(borders) == ["France", "Germany", *["Netherlands"] * 3]


def test_templates_are_filled_with_facts_they_would_be_asked_of(loaded: Graph) -> None:
    examples = examples_of(loaded, "P36", 2024_01_01)
    assert filled_templates(CAPITAL, examples, 2024_01_01) == [
        FilledTemplate("cloze", CAPITAL.clozes[0], "The capital of Germany is … Berlin", "f1"),
        FilledTemplate("past_cloze", CAPITAL.past_clozes[0], "The capital of Germany was … Bonn", "f2"),
        FilledTemplate("statement", CAPITAL.statements[0], "Berlin is the capital of Germany.", "f1"),
        FilledTemplate("yes_no_question", CAPITAL.yes_no_questions[0], "Is Berlin the capital of Germany?", "f1"),
        FilledTemplate("wh_question", CAPITAL.wh_questions[0], "What is the capital of Germany?", "f1"),
    ]
    # In 1960, Berlin was not yet, and Bonn held; nothing had ended.
    then = filled_templates(CAPITAL, examples, 1960_01_01)
    assert [each.sentence for each in then[:2]] == [
        "The capital of Germany is … Bonn",
        "The capital of Germany was … Bonn",
    ]
    # A cloze is put in the past for facts that have ended, and only for them.
    bare = Relation("P36", clozes=CAPITAL.clozes)
    assert [each.template for each in filled_templates(bare, examples, 2024_01_01)] == [
        "The capital of [X] is [Y]",
        "The capital of [X] was [Y]",
    ]
    assert len(filled_templates(bare, examples, 1960_01_01)) == 1
    assert filled_templates(bare, [], 2024_01_01) == [FilledTemplate("cloze", CAPITAL.clozes[0], None, None)]


def test_graph_is_checked_with_its_own_facts(loaded: Graph) -> None:
    progress: list[tuple[int, int]] = []
    checked = check_graph(loaded, on_progress=lambda now: progress.append((now.done, now.total)))
    assert (checked.relations, checked.templates, checked.without_clozes) == (3, 6, ["P30"])
    assert [(flaw.relation, flaw.severity) for flaw in checked.flaws] == [("P47", "warning")]
    assert "in front of [Y], which does not suit 'France' (40% of its facts)" in checked.flaws[0].problem
    assert progress == [(1, 3), (2, 3), (3, 3)]
    assert check_graph(loaded, ["P36"]).flaws == []
