"""How much of a graph a model knows, by a run's answers: on a graph of which everything is known, on both engines."""

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kgprobe.answers.store import FILE
from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.beliefs.graph_rates import ENOUGH, GroupRate
from kgprobe.beliefs.register import LEARNERS
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import run_folder
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.results import graph_rates
from kgprobe.results.graph_rates import GraphRates
from kgprobe.running import frame, learning
from kgprobe.running.rounds import continue_run
from kgprobe.running.runs import begin_run, get_run
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.years import YearSource
from tests.cases import slow_except
from tests.running.killed_run import make_plan
from tests.running.test_rounds import answers_of
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")

AS_OF = 20200101
RELATIONS = [Relation(id_, f"name of {id_}", clozes=("[X] is [Y]",)) for id_ in ("r0", "r1", "r2")]


def made_up() -> list[Fact]:
    """600 facts of 60 people: two thirds of the first relation, few of the last; a third has a begin."""
    generator = random.Random(4)
    facts = []
    for number in range(600):
        relation = "r2" if number % 50 == 0 else "r1" if number % 3 == 0 else "r0"
        subject, object_ = (f"e{generator.randrange(60)}" for _ in range(2))
        start = str(1990 + number % 4) if number % 2 else None
        facts.append(Fact(f"{subject} {relation} {object_} {number}", subject, relation, object_, start=start))
    return facts


FACTS = made_up()
PEOPLE = [
    Entity(f"e{n}", f"person {n}", types=("t", "u") if n % 2 else ("t",), popularity=float(n) if n else None)
    for n in range(60)
]
TYPES = [Entity("t", "town"), Entity("u", "")]


def known(fact: str) -> bool:
    """Most facts of the first relation, few of the others."""
    return zlib.crc32(fact.encode()) % 10 < (8 if " r0 " in fact else 3)


def always(fact: str) -> Verdict:
    """Return an answer a fact, the same each time."""
    return Verdict.RIGHT if known(fact) else Verdict.WRONG


class KnowingProbe:
    """Says of each fact what it is told to."""

    relations = ("r0", "r1", "r2")

    def __init__(self, knows: Callable[[str], Verdict] = always) -> None:
        self._knows = knows

    def describe(self) -> dict[str, Any]:
        return {"model": "known"}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:  # noqa: ARG002
        return [self._answer(fact) for fact in facts]

    def _answer(self, fact: FactKey) -> Outcome:
        verdict, relation = self._knows(fact.fact), fact.fact.split()[1]
        if verdict is Verdict.UNASKABLE:
            return unaskable(fact, relation, "no type")
        return Outcome(fact, verdict, relation)


def load_facts(graph: Graph) -> None:
    load(graph, WrittenSource([*PEOPLE, *TYPES], FACTS, RELATIONS))


def ask(graph: Graph, run: str, knows: Callable[[str], Verdict] = always, **changes: Any) -> None:
    plan = make_plan(
        run, **{"rounds": 10, "facts_per_round": 32, "seed": 5, "as_of": AS_OF, "sampling": "information"} | changes
    )
    probe = KnowingProbe(knows)
    if not graph.read("beliefs/run", id=run):
        begin_run(graph, probe, plan, "known")
    continue_run(graph, probe, plan)


def share_known(chosen: Sequence[Fact]) -> float:
    return float(np.mean([known(fact.id) for fact in chosen]))


def estimate_run(graph: Graph, run: str, **options: Any) -> GraphRates:
    """Return the estimates of a run that has some."""
    rates = graph_rates.estimate_run(graph, run, **options)
    assert rates is not None
    return rates


def by(rates: GraphRates) -> dict[str, dict[str, GroupRate]]:
    return {one.by: {group.group: group for group in one.groups} for one in rates.groupings}


@pytest.mark.parametrize("learner", slow_except(LEARNERS, ["hierarchical"]))
def test_estimate_after_a_load_is_of_the_facts_of_the_start(
    graph: Graph, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_facts(graph)
    ask(graph, "run", learner=learner, sampling="uniform", rounds=5)
    before = estimate_run(graph, "run")
    # The frame was written in a single block.
    monkeypatch.setattr(frame, "_TEXTS", 64)
    later = [replace(fact, id=f"later {fact.relation} {fact.id}", object="e9") for fact in FACTS[:300]]
    load(graph, WrittenSource(PEOPLE, later, RELATIONS, fingerprint="later"))
    after = estimate_run(graph, "run")
    assert (after.facts, after.overall.right, after.answers) == (600, before.overall.right, 160)
    assert after.notes[0].endswith("added 300 facts. 300 facts came or changed later and are left out.")
    # It asks none of them, and believes nothing of them.
    ask(graph, "run", learner=learner, sampling="uniform", rounds=6)
    asked = {answer["fact"] for answer in answers_of(graph, "run")}
    believed = {row["fact"] for row in graph.stream("beliefs/touched", run="run")}
    assert asked | believed <= {fact.id for fact in FACTS}
    # Answers about a fact that has another object now do not count.
    moved = next(fact for fact in FACTS if fact.id in asked)
    object_ = next(f"e{n}" for n in range(60) if f"e{n}" != moved.object)
    load(graph, WrittenSource(PEOPLE, [replace(moved, object=object_)], RELATIONS, fingerprint="moved"))
    last = estimate_run(graph, "run")
    assert (last.facts, "301 facts came or changed later" in last.notes[0]) == (599, True)
    assert last.answers == 192 - sum(answer["fact"] == moved.id for answer in answers_of(graph, "run"))
    person, relation = moved.subject.removeprefix("e"), moved.relation
    assert last.notes[1] == f"Answers about lost facts do not count: person {person}, name of {relation}."
    assert last.summary().startswith(f"known is right on {last.overall.right} of the 599 facts of the run's start")


@pytest.mark.parametrize("sampling", slow_except(["information", "hardest", "uniform", "thompson"], ["information"]))
def test_it_holds_the_rate_of_all_facts_and_of_each_group(graph: Graph, sampling: str) -> None:
    load_facts(graph)
    ask(graph, "run", sampling=sampling)
    rates = estimate_run(graph, "run")
    assert (rates.facts, rates.answers) == (600, 320)
    # Of a round that goes after what may be hard, an eighth is drawn from all facts.
    assert rates.drawn == 320 if sampling != "thompson" else 10 <= rates.drawn <= 80
    assert rates.overall.right.low < share_known(FACTS) < rates.overall.right.high
    groups = by(rates)
    expected: dict[str, dict[str, list[Fact]]] = {
        "relation": {one.id: [fact for fact in FACTS if fact.relation == one.id] for one in RELATIONS},
        "type": {
            "t": FACTS,
            "u": [fact for fact in FACTS if int(fact.subject[1:]) % 2],
        },
        "year": {str(year): [fact for fact in FACTS if fact.start == str(year)] for year in range(1990, 1994)},
    }
    for kind, its in expected.items():
        for id_, group in groups.get(kind, {}).items():
            assert group.facts == len(its[id_])
            assert group.right.low <= share_known(its[id_]) <= group.right.high, (kind, id_)
            assert group.drawn >= ENOUGH
    if sampling == "thompson":
        return
    assert list(groups) == ["relation", "type", "popularity", "year"]
    # Twelve facts are too few, however often they are asked; the graph names one of the types.
    assert [group.name for group in rates.groupings[0].groups] == ["name of r0", "name of r1"]
    assert rates.groupings[0].left_out == 1
    assert [group.name for group in rates.groupings[1].groups] == ["town", "u"]
    thirds = groups["popularity"]
    assert list(thirds) == ["head", "torso", "tail"]
    # A person whose popularity is not known is in none of them.
    assert sum(group.facts for group in thirds.values()) == sum(fact.subject != "e0" for fact in FACTS)
    assert list(groups["year"]) == ["1990", "1991", "1992", "1993"][1::2]


def test_years_without_a_choice_are_of_most_facts(graph: Graph) -> None:
    """A quarter of the facts has a start; most subjects have a birth date, few a second date."""
    facts = [replace(fact, start=fact.start if number % 4 == 1 else None) for number, fact in enumerate(FACTS)]
    dates = [Entity(f"{year}-01-01", str(year), value=f"{year}-01-01", datatype="date") for year in (1800, 1900)]
    born = [Fact(f"{one.id} P569", one.id, "P569", dates[number % 2].id) for number, one in enumerate(PEOPLE[:50])]
    other = [Fact(f"{one.id} P571", one.id, "P571", dates[0].id) for one in PEOPLE[:20]]
    relations = [*RELATIONS, Relation("P569", "date of birth"), Relation("P571", "inception")]
    load(graph, WrittenSource([*PEOPLE, *TYPES, *dates], [*facts, *born, *other], relations))
    ask(graph, "run", sampling="uniform")
    rates = estimate_run(graph, "run")
    dated = sum(int(fact.subject[1:]) < 50 for fact in facts)
    assert rates.year_source == YearSource("P569", "date of birth", dated, len(facts))
    assert {name: group.facts for name, group in by(rates)["year"].items()} == {
        year: sum(int(fact.subject[1:]) < 50 and int(fact.subject[1:]) % 2 == odd for fact in facts)
        for year, odd in (("1800", 0), ("1900", 1))
    }
    (table,) = [table for table in rates.tables() if table.key == "graph_by_year"]
    assert table.notes[0] == f"Year: date of birth of the subject; {dated} of {len(facts)} facts have one."
    # Half of the facts must have a start; the user's choice goes before.
    assert estimate_run(graph, "run", year_relation="start").to_dict()["year"]["relation"] == "start"


def test_another_run_tells_what_to_expect(graph: Graph) -> None:
    load_facts(graph)
    ask(graph, "few", sampling="uniform", rounds=5)
    each_twice = {"sampling": "sequential", "learner": "independent", "rounds": 2, "facts_per_round": 608}
    ask(graph, "alike", **each_twice, seed=1)
    alone, with_other = estimate_run(graph, "few").overall, estimate_run(graph, "few", predictors=["alike"])
    other = with_other.overall
    assert with_other.predictors == ["alike"]
    assert other.right.low < share_known(FACTS) < other.right.high
    # It was asked all facts, and knows the same.
    assert other.standard_error < 0.75 * alone.standard_error
    assert other.answers_worth is not None
    assert other.answers_worth > 1.8 * 160
    # A run that says the opposite is read the other way round.
    ask(graph, "opposite", lambda fact: Verdict.WRONG if known(fact) else Verdict.RIGHT, **each_twice)
    opposite = estimate_run(graph, "few", predictors=["opposite"]).overall
    assert opposite.standard_error < 0.75 * alone.standard_error
    begin_run(graph, KnowingProbe(), make_plan("empty", as_of=AS_OF), "known")
    with pytest.raises(KgprobeError, match="'empty' has no answers about these facts"):
        estimate_run(graph, "few", predictors=["empty"])
    with pytest.raises(UnknownNameError, match="nobody"):
        estimate_run(graph, "few", predictors=["nobody"])


def test_facts_that_cannot_be_asked_and_answers_that_do_not_come(graph: Graph) -> None:
    load_facts(graph)

    def lost(fact: str) -> bool:
        return zlib.crc32(fact[::-1].encode()) % 4 == 0

    generator = random.Random(0)

    def knows(fact: str) -> Verdict:
        if lost(fact):
            return Verdict.UNASKABLE
        return Verdict.UNANSWERED if generator.random() < 0.3 else always(fact)

    ask(graph, "run", knows, rounds=14)
    rates = estimate_run(graph, "run")
    assert rates.answers < rates.overall.drawn < rates.drawn == 14 * 32
    left = [fact for fact in FACTS if not lost(fact.id)]
    assert rates.overall.right.low < share_known(left) < rates.overall.right.high


def test_run_is_estimated_by_what_its_graph_has_counted(graph: Graph) -> None:
    load_facts(graph)
    ask(graph, "run", rounds=3)
    before = estimate_run(graph, "run")
    answers = run_folder(get_run(graph, "run")) / FILE
    lines = answers.read_bytes().splitlines(keepends=True)
    ask(graph, "run", rounds=5)
    longer = answers.read_bytes()
    assert estimate_run(graph, "run").answers == 5 * 32
    # A program that was killed while it wrote has left half a line behind, and a round that the graph has not counted.
    list(graph.run_text("MATCH (r:Run {id: 'run'}) SET r.round = 3, r.asked = 96", {})[1])
    answers.write_bytes(longer[: len(b"".join(lines)) + 40 * (len(longer) - len(b"".join(lines))) // 64 + 7])
    assert estimate_run(graph, "run") == replace(before, run=get_run(graph, "run"))


def test_without_known_probabilities_nothing_is_said(graph: Graph) -> None:
    load_facts(graph)
    ask(graph, "run", sampling="sequential", rounds=2)
    assert graph_rates.estimate_run(graph, "run") is None


def test_answers_are_where_they_were_kept(graph: Graph) -> None:
    load_facts(graph)
    ask(graph, "run", rounds=1)
    (run_folder(get_run(graph, "run")) / FILE).unlink()
    with pytest.raises(KgprobeError, match="answers"):
        estimate_run(graph, "run")


@pytest.mark.slow
def test_all_facts_are_looked_at_no_more_often_than_answers_grow(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    load_facts(graph)
    ask(graph, "run", rounds=40, facts_per_round=16)
    looks = []
    predict = learning.CorrectedRates.predict
    monkeypatch.setattr(
        learning.CorrectedRates, "predict", lambda self, right: (looks.append(len(right)), predict(self, right))[1]
    )
    kept = run_folder(get_run(graph, "run")) / learning.LEARNING
    # The rounds have collected what the estimate needs.
    estimate_run(graph, "run", groups=False)
    assert not looks
    kept.unlink()
    estimate_run(graph, "run", groups=False)
    # 16 answers become 640 in 17 steps of a quarter; the first are of single rounds.
    assert 10 < len(looks) < 20
    assert set(looks) == {600}
    # In graphs of many facts a look takes seconds.
    looks.clear()
    kept.unlink()
    monkeypatch.setattr(learning, "_MANY", 500)
    estimate_run(graph, "run", groups=False)
    assert 5 <= len(looks) <= 7
