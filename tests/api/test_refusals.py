"""The permission to say *I don't know*, asked of a model that knows half of the capitals and says so if it may."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.base.intervals import Share
from kgprobe.graph.client import Graph
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.model import Model
from kgprobe.results.measurement import Measurement
from kgprobe.stats.proportions import share
from tests.models.tiny import tiny_scorer

CAPITALS: dict[str, Any] = {"relations": ["P36"], "as_of": "2024", "limit": 20}
WAYS = {
    "questions": {"difficulty": "open", "follow_ups": 0},
    "recall": {"prompts": 2, "examples": 2, "samples": 0},
    "generation": {"prompt": "sentences", "until": "line"},
}


def knows(subject: str) -> bool:
    return zlib.crc32(subject.encode()) % 2 == 0


class Modest:
    """Generator of capitals: right if it knows the country, else a refusal if the prompt permits it, else a city."""

    name = "modest"

    def __init__(self, graph: Graph) -> None:
        query = "MATCH (s:Entity)-[f:FACT {relation: 'P36'}]->(o:Entity) RETURN s.label AS s, collect(o.label) AS o"
        self._capitals = {row["s"]: row["o"] for row in graph.run_text(query, {})[1]}

    def describe(self) -> dict[str, object]:
        return {"model": self.name}

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        return {"switch": str(thinking)}

    def answer(self, requests: Sequence[Request], progress: Any = None) -> list[Answer]:
        if progress is not None:
            progress(len(requests))
        return [Answer(self._answer(request.prompt)) for request in requests]

    def _answer(self, prompt: str) -> str:
        last = prompt.rsplit("\n\n", 1)[-1]
        subject = max((name for name in self._capitals if name in last), key=len)
        if knows(subject):
            return ", ".join(self._capitals[subject])
        return "I don't know." if "I don't know" in prompt else "Some town in the north"


@pytest.fixture
def modest(example_graph: Graph) -> Model:
    return Model("modest", scorer=tiny_scorer(n_positions=1024), generator=Modest(example_graph))


def lines(made: Measurement) -> list[dict[str, Any]]:
    stored = [json.loads(line) for line in made.outcomes.path.read_text(encoding="utf-8").splitlines()]
    return [line for line in stored if line["verdict"] != "unaskable"]


def same(found: Share | None, count: int, total: int) -> bool:
    expected = share(count, total)
    assert found is not None
    return (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))


@pytest.mark.parametrize("probe", WAYS)
def test_permission_turns_wrong_answers_into_refusals(example_graph: Graph, modest: Model, probe: str) -> None:
    without = kgprobe.measure(example_graph, modest, probe, **CAPITALS, **WAYS[probe])
    permitted = kgprobe.measure(example_graph, modest, probe, **CAPITALS, **WAYS[probe], allow_unknown=True)
    assert without.folder != permitted.folder
    assert not any("know" in line["prompt"] for line in lines(without))
    known, facts = 0, 0
    for before, line in zip(lines(without), lines(permitted), strict=True):
        assert "I don't know" in line["prompt"]
        # The permission is before the rest of the prompt, or among its examples.
        assert line["prompt"].endswith(before["prompt"].rsplit("\n\n", 1)[-1])
        right = before["verdict"] == "right"
        assert (line["verdict"], before["verdict"]) == (("right", "right") if right else ("refused", "wrong"))
        known, facts = known + right, facts + 1
    assert 0 < known < facts
    finding = permitted.finding()
    rates = finding.answer_rates[0]
    assert rates.net_score.value == pytest.approx(known / facts)
    assert same(rates.refused, facts - known, facts)
    assert rates.unplaced.value == 0
    assert same(without.finding().answer_rates[0].unplaced, facts - known, facts)
    assert f"net score {rates.net_score} points" in finding.summary()
    change = kgprobe.compare([without, permitted]).refusals
    assert change is not None
    assert {row.answer: (row.right, row.wrong, row.refused) for row in change.moves} == {
        "right": (known, 0, 0),
        "wrong": (0, 0, facts - known),
        "refused": (0, 0, 0),
    }
    row = kgprobe.refusals(permitted, without).groups[0]
    assert (row.known, row.unknown) == (known, facts - known)
    assert row.needless is not None
    assert row.needless.value == 0
    assert same(row.justified, facts - known, facts - known)


def test_refusals_next_to_a_run_and_a_label_table(example_graph: Graph, modest: Model) -> None:
    permitted = kgprobe.measure(
        example_graph, modest, "questions", **CAPITALS, **WAYS["questions"], allow_unknown=True, name="permitted"
    )
    options = {"relations": ["P36"], "as_of": "2024", "rounds": 2, "facts_per_round": 8, **WAYS["questions"]}
    run = kgprobe.run_rounds(example_graph, modest, "questions", name="modest", allow_unknown=True, **options)
    try:
        own = run.answers.by_fact()
        assert own["refused"].sum() == own["wrong"].sum() > 0
        # Refused facts are not known, as without the permission.
        facts = run.to_frame().set_index("fact")
        assert not facts.loc[own.index[own["refused"] > 0], "belief"].str.endswith(" known").any()
        shared = set(permitted.answers.by_fact().index) & set(own.index)
        row = kgprobe.refusals(permitted, "modest", graph=example_graph).groups[0]
        # The run's own refusals decide nothing.
        right = sum(own.loc[fact, "right"] > 0 for fact in shared)
        assert (row.facts, row.known, row.unknown, row.undecided) == (len(shared), right, 0, len(shared) - right)
    finally:
        kgprobe.delete("modest", example_graph)
    keys = list(permitted.answers.by_fact().index[:6])
    labels = kgprobe.label_facts(example_graph, modest, ways="questions", facts=keys, as_of="2024", name="labels")
    row = kgprobe.refusals(permitted, labels).groups[0]
    right = int(permitted.answers.by_fact().loc[keys, "right"].sum())
    assert (row.facts, row.known, row.unknown, row.undecided) == (6, right, 6 - right, 0)
    assert (row.justified is None) or row.justified.value == 1
    assert kgprobe.refusals("permitted", "labels").groups[0] == row
    generator = Modest(example_graph)
    generator.name = "other"
    other = Model("other", scorer=tiny_scorer(n_positions=1024), generator=generator)
    of_other = kgprobe.measure(example_graph, other, "questions", **CAPITALS, **WAYS["questions"])
    with pytest.raises(ArgumentError, match="has labels of modest; expected those of other"):
        kgprobe.refusals(of_other, labels)
