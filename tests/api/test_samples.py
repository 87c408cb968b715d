"""A look at what would be asked, as a user calls for it, on both engines."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.options import options_of
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.questions import QuestionOptions
from kgprobe.probes.search.strategies import STRATEGIES
from kgprobe.results.result import Result
from kgprobe.results.samples import FactSample
from kgprobe.sampling.distractors import RandomDistractors
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives
from tests.sampling.enumerable import ruled

PARIS = "Q142 P36 Q90"
PRESIDENT = "United States | head of state | Donald Trump"
EUROPE = "Q142 P30 Q46"
AT = "2025-12"
DAY = 20251231


def key_of(graph: Graph, named: str) -> FactKey:
    [row] = kgprobe.sample_questions(graph, named, as_of=AT).rows()
    return FactKey(row["subject"], row["fact"])


def test_facts_are_drawn_from_those_that_can_be_asked(example_graphs: Graph) -> None:
    sample = kgprobe.sample_facts(example_graphs, 4, relations=["P36"], as_of=AT)
    assert (len(sample), set(sample.to_frame()["relation"])) == (4, {"P36"})
    assert len(set(sample.keys)) == 4
    assert sample.notes == (f"{sample.askable:,} facts can be asked at {DAY}.",)
    assert sample.rows() == kgprobe.sample_facts(example_graphs, 4, relations=["P36"], as_of=DAY).rows()
    assert sample.rows() != kgprobe.sample_facts(example_graphs, 4, relations=["P36"], as_of=AT, seed=9).rows()
    every = kgprobe.sample_facts(example_graphs, 10**6, as_of=AT)
    assert len(every) == every.askable > sample.askable
    none = FactSample([], [], 0)
    assert (len(none), none.tables()) == (0, [])
    assert list(none.to_frame()) == list(every.to_frame())


def test_sample_facts_of_a_relation_are_those_of_a_larger_draw(example_graphs: Graph) -> None:
    every = kgprobe.sample_facts(example_graphs, 200, as_of=AT).rows()
    capitals = [row for row in every if row["relation"] == "P36"]
    assert len(capitals) > 1
    assert kgprobe.sample_facts(example_graphs, len(capitals), relations=["P36"], as_of=AT).rows() == capitals


def test_what_is_sampled_can_be_looked_at(example_graphs: Graph) -> None:
    keys = kgprobe.sample_facts(example_graphs, 3, relations=["P36"], as_of=AT).keys
    looked = kgprobe.sample_distractors(example_graphs, keys, distractors=2, as_of=AT)
    assert list(dict.fromkeys((row["subject"], row["fact"]) for row in looked.rows())) == keys


def test_random_distractors_follow_from_the_seed(example_graphs: Graph) -> None:
    sample = kgprobe.sample_distractors(example_graphs, PARIS, as_of=AT)
    [expected] = RandomDistractors(example_graphs).retrieve(
        ruled(example_graphs, [key_of(example_graphs, PARIS)]), 10, [0]
    )
    rows = sample.rows()
    assert [(row["id"], row["label"], row["reason"]) for row in rows] == [(d.id, d.label, d.reason) for d in expected]
    assert [row["rank"] for row in rows] == list(range(1, 11))
    assert {(row["subject"], row["relation"], row["object"], row["strategy"]) for row in rows} == {
        ("Q142", "P36", "Q90", "random")
    }
    assert {(row["sentence"], row["certified"]) for row in rows} == {(None, None)}
    assert not sample.notes
    assert rows != kgprobe.sample_distractors(example_graphs, PARIS, as_of=AT, seed=1).rows()


def test_former_objects_come_before_what_is_alike(example_graphs: Graph) -> None:
    sample = kgprobe.sample_distractors(
        example_graphs, PRESIDENT, "temporal-semantic", weighting="bm25", distractors=60, as_of=AT
    )
    frame = sample.to_frame()
    assert list(frame["label"][:2]) == ["Joe Biden", "Barack Obama"]
    former = int(frame["former"].sum())
    assert frame["former"].tolist() == [True] * former + [False] * (60 - former)
    assert 2 < former < 60
    assert frame["reason"][0].endswith("; held until 2025-01-20")
    assert {(row["strategy"], row["weighting"]) for row in sample.rows()} == {("temporal-semantic", "bm25")}


def test_fewer_distractors_than_wanted_are_explained(example_graphs: Graph) -> None:
    sample = kgprobe.sample_distractors(example_graphs, [EUROPE, "Q17 P30 Q48"], as_of=AT)
    assert [row["subject"] for row in sample.rows()] == ["Q142"] * 5 + ["Q17"] * 5
    assert [note.partition(": ")[2] for note in sample.notes] == [
        "5 distractors, not 10. There are 6 entities of the type continent; left out: the object itself."
    ] * 2


def test_sample_distractors_shortage_note_admits_former_objects(example_graphs: Graph) -> None:
    counts = {}
    for former in ("wrong", "never"):
        sample = kgprobe.sample_distractors(example_graphs, PRESIDENT, distractors=10**5, former=former, as_of=AT)
        [note] = sample.notes
        size = int(re.search(r"There are ([\d,]+) entities", note)[1].replace(",", ""))
        right = re.search(r"([\d,]+) right as well", note)
        names = re.search(r"([\d,]+) with a name of its", note)
        nameless = re.search(r"([\d,]+) without a name", note)
        left_out = [int(found[1].replace(",", "")) for found in (right, names, nameless) if found]
        # Nobody is counted twice, and nobody is missing; the object itself is one.
        assert len(sample) + sum(left_out) + 1 == size
        counts[former] = int(right[1]) if right else 0
    assert counts["never"] > counts["wrong"]


@pytest.mark.parametrize("strategy", STRATEGIES.names())
@pytest.mark.representatives(2)
def test_every_strategy_can_be_looked_at(example_graphs: Graph, tiny: Model, strategy: str) -> None:
    sample = kgprobe.sample_distractors(
        example_graphs, [EUROPE], strategy, model=tiny, distractors=2, sentences=2, as_of=AT
    )
    asks = STRATEGIES.get(strategy).asks_model
    sentences = list(dict.fromkeys(row["sentence"] for row in sample.rows()))
    assert len(sentences) == (2 if asks else 1)
    assert [(row["rank"], row["sentence"]) for row in sample.rows()] == [
        (n, each) for each in sentences for n in (1, 2)
    ]
    assert sample.strategy["strategy"] == strategy
    assert sample.strategy.get("model") == ("tiny" if asks else None)
    proved = {"exact-optimal": True, "approximate-optimal": False}.get(strategy)
    assert {row["certified"] for row in sample.rows()} == {proved}
    titles = [table.title for table in sample.tables()]
    assert titles == [
        f"France · continent · Europe: {strategy} distractors" + (f" after “{each} …”" if each else "")
        for each in sentences
    ]


def test_negatives_are_other_objects_former_ones_marked(example_graphs: Graph) -> None:
    sample = kgprobe.sample_negatives(example_graphs, PRESIDENT, 900, as_of=AT)
    rows = sample.rows()
    by_label = {row["label"]: row for row in rows}
    assert len(by_label) == len(rows)
    [note] = sample.notes
    assert note.endswith(f": {len(rows)} hard negatives, not 900: no more exist.")
    assert "Donald Trump" not in by_label
    biden, putin = by_label["Joe Biden"], by_label["Vladimir Putin"]
    assert (biden["former"], biden["until"], biden["subjects_elsewhere"]) == (True, "2025-01-20", 0)
    assert (putin["former"], putin["until"], putin["subjects_elsewhere"], putin["example"]) == (
        *(False, None, 1),
        "Russia",
    )
    assert all(row["former"] or row["subjects_elsewhere"] for row in rows)
    [objects] = example_graphs.query(
        "MATCH (:Entity)-[f:FACT {relation: 'P35'}]->(o:Entity) RETURN count(DISTINCT o) AS count"
    )
    assert {(row["candidates"], row["former_objects"]) for row in rows} == {(objects["count"], "wrong")}
    never = kgprobe.sample_negatives(example_graphs, PRESIDENT, 900, former="never", as_of=AT)
    assert {(row["former"], row["former_objects"]) for row in never.rows()} == {(False, "never")}
    president = describe_facts(example_graphs, [key_of(example_graphs, PRESIDENT)])
    [expected] = Negatives(example_graphs, DAY).draw(president, 3, [0])
    few = kgprobe.sample_negatives(example_graphs, PRESIDENT, 3, as_of=AT)
    assert [row["id"] for row in few.rows()] == [negative.id for negative in expected]
    assert not few.notes
    assert few.rows() != kgprobe.sample_negatives(example_graphs, PRESIDENT, 3, as_of=AT, seed=1).rows()
    told = {row["id"]: row for row in sample.tables()[0].rows}
    assert (told[biden["id"]]["object of"], told[biden["id"]]["was right"]) == (None, "until 2025-01-20")
    assert (told[putin["id"]]["object of"], told[putin["id"]]["was right"]) == ("Russia", None)


def test_question_is_shown_with_what_is_right(example_graphs: Graph) -> None:
    facts = [PARIS, PRESIDENT, "Q142 P47 Q183", "Q17 P30 Q48"]
    kinds, sides = set(), set()
    for seed in range(3):
        for row in kgprobe.sample_questions(example_graphs, facts, seed=seed, as_of=AT).rows():
            assert row["reason"] is None
            assert f"Question: {row['question']}\nAnswer:" in row["prompt"]
            kinds.add(row["kind"])
            sides.add(row["expected"])
            assert (row["negative"] is None) == (row["expected"] in (True, None))
            ids = {one["id"] for one in row["right"]}
            assert row["object"] in ids
            assert ("Q183" in ids) == (row["relation"] == "P47")
    assert (kinds, sides) == ({"yes/no", "wh"}, {True, False, None})
    easy = kgprobe.sample_questions(example_graphs, facts, difficulty="easy", with_alias=True, as_of=AT)
    assert set(easy.to_frame()["kind"]) == {"yes/no"}
    assert easy.to_frame()["question"].str.contains("(also called ", regex=False).any()


def test_what_cannot_be_asked_is_told(example_graphs: Graph) -> None:
    sample = kgprobe.sample_questions(example_graphs, [PARIS, "Q30 P35 Q6279"], as_of=AT)
    asked, former = sample.questions
    assert (asked.answer is None, asked.prompt is None) == (False, False)
    assert (former.answer, former.prompt) == (None, None)
    assert "cannot be asked: it does not hold at 20251231" in former.about
    assert sample.to_frame()["reason"].notna().tolist() == [False, True]


CALLS: Sequence[tuple[Callable[..., Result], dict[str, Any]]] = (
    (kgprobe.sample_distractors, {}),
    (kgprobe.sample_negatives, {}),
    (kgprobe.sample_questions, {}),
    (kgprobe.sample_statements, {"replace": "any"}),
)


@pytest.mark.parametrize(("call", "options"), CALLS)
@pytest.mark.representatives(2)
def test_facts_are_named_in_any_way(
    example_graphs: Graph, call: Callable[..., Result], options: dict[str, Any]
) -> None:
    by_key = call(example_graphs, key_of(example_graphs, PARIS), as_of=AT, **options)
    for named in (PARIS, "france CAPITAL paris", ["France | capital | Paris"], (key_of(example_graphs, PARIS),)):
        assert call(example_graphs, named, as_of=AT, **options).rows() == by_key.rows()
    both = call(example_graphs, iter([PRESIDENT, PARIS]), as_of=AT, **options)
    assert list(dict.fromkeys(row["subject"] for row in both.rows())) == ["Q30", "Q142"]
    # What stands beside a fact has no say in what is drawn for it.
    assert [row for row in both.rows() if row["subject"] == "Q142"] == by_key.rows()


@pytest.mark.parametrize(("call", "options"), CALLS)
def test_mistakes_are_told_with_what_would_be_right(
    example_graphs: Graph, call: Callable[..., Result], options: dict[str, Any]
) -> None:
    for fact, message in [
        ("Q142 P36 Q64", r"The graph has no fact 'Q142 P36 Q64'. As capital, France \(Q142\) has Paris \(Q90\)."),
        ("Frnace capital Paris", r"No entity is called 'Frnace'; close to it: France \(Q142\)"),
        ("France | captial | Paris", "No relation is called 'captial'; close to it: capital"),
        (FactKey("Q142", "none"), "The graph has no fact 'none' of a subject 'Q142'"),
        (FactKey("Q17", key_of(example_graphs, PARIS).fact), "of a subject 'Q17'"),
    ]:
        with pytest.raises(UnknownNameError, match=message):
            call(example_graphs, fact, **options)
    with pytest.raises(ArgumentError, match="`as_of` is not a date"):
        call(example_graphs, PARIS, as_of="soon", **options)


def test_arguments_that_cannot_be(example_graphs: Graph) -> None:
    with pytest.raises(UnknownNameError, match="P99"):
        kgprobe.sample_facts(example_graphs, relations=["P36", "P99"])
    for call in (kgprobe.sample_facts, lambda graph, count: kgprobe.sample_negatives(graph, PARIS, count)):
        with pytest.raises(ArgumentError, match="`limit` is 0"):
            call(example_graphs, 0)
    with pytest.raises(ArgumentError, match="`strategy` is 'best'; expected one of"):
        kgprobe.sample_distractors(example_graphs, PARIS, "best")
    with pytest.raises(ArgumentError, match="`distractors` is 0"):
        kgprobe.sample_distractors(example_graphs, PARIS, distractors=0)
    with pytest.raises(ArgumentError, match="`model` is missing: exact-optimal"):
        kgprobe.sample_distractors(example_graphs, PARIS, "exact-optimal")
    with pytest.raises(ArgumentError, match="`difficulty` is 'medium'"):
        kgprobe.sample_questions(example_graphs, PARIS, difficulty="medium")


@pytest.mark.parametrize(
    ("call", "kind"), [(kgprobe.sample_distractors, DistractorOptions), (kgprobe.sample_questions, QuestionOptions)]
)
def test_defaults_are_those_of_the_probe(call: Callable[..., Result], kind: type) -> None:
    defaults = {name: each.default for name, each in inspect.signature(call).parameters.items()}
    shared = {one.name: one.default for one in options_of(kind) if one.name in defaults}
    assert shared
    assert shared == {name: defaults[name] for name in shared}
