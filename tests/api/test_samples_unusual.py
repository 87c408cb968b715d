"""What is unusual of a fact is told beside its distractors, on both engines."""

import pytest

import kgprobe
from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from tests.written_source import WrittenSource


@pytest.fixture
def untyped(graph: Graph) -> Graph:
    """Three objects without a type, of a relation with a cloze sentence and of one without."""
    entities = [Entity("s", "Sam"), *(Entity(f"o{n}", f"Object {n}") for n in range(3)), Entity("t", "Tom")]
    facts = [
        Fact("said", "s", "r", "o0"),
        Fact("silent", "s", "q", "o0"),
        Fact("gone", "t", "r", "o1", end="1999"),
        Fact("more", "t", "r", "o2"),
    ]
    relations = [
        Relation("r", "owner", clozes=("[X] has seen [Y]",), yes_no_questions=("Has [X] seen [Y]?",)),
        Relation("q"),
    ]
    load(graph, WrittenSource(entities, facts, relations))
    return graph


def test_object_without_a_type_is_told(untyped: Graph) -> None:
    sample = kgprobe.sample_distractors(untyped, "said", distractors=3)
    assert {row["label"] for row in sample.rows()} == {"Object 1", "Object 2"}
    assert sample.notes == [
        "Sam · owner · Object 0: 2 distractors, not 3. There are 3 entities that are objects of owner; left out: the"
        " object itself. Object 0 has no type, so the relation's objects count as its kind."
    ]
    assert not kgprobe.sample_distractors(untyped, "said", distractors=2).notes


def test_strategy_of_the_graph_needs_no_sentence(untyped: Graph) -> None:
    sample = kgprobe.sample_distractors(untyped, ["said", "silent"], distractors=1)
    assert {row["fact"] for row in sample.rows()} == {"said"}
    # A relation without a label goes by its id.
    assert [note.partition(":")[0] for note in sample.notes] == ["Sam · q · Object 0"]


def test_facts_that_no_sentence_can_be_made_of_are_named(untyped: Graph, tiny: Model) -> None:
    sample = kgprobe.sample_distractors(untyped, ["silent", "said"], "exact-optimal", model=tiny, distractors=2)
    assert {(row["fact"], row["sentence"]) for row in sample.rows()} == {("said", "Sam has seen")}
    why = "Sam · q · Object 0 has no cloze sentence: its relation is not asked"
    assert sample.notes[0].startswith(why)
    with pytest.raises(KgprobeError, match=rf"None of the facts has a cloze sentence.*{why}"):
        kgprobe.sample_distractors(untyped, "silent", "exact-optimal", model=tiny)


def test_questions_that_cannot_be_asked_have_their_reason(untyped: Graph) -> None:
    said, silent, gone = kgprobe.sample_questions(untyped, ["said", "silent", "gone"], as_of="2020").rows()
    assert (said["reason"], said["prompt"] is None) == (None, False)
    assert "has no yes/no question" in silent["reason"]
    assert gone["reason"] == "it does not hold at 20201231, and questions are asked in the present"
    assert {silent["kind"], silent["chance"], gone["question"], gone["expected"]} == {None}
