"""Each number that a page shows twice is the same: of a run with and without an estimate, once asked, and compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.answers.store import FILE, Outcomes
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import run_folder
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.results.about import About
from kgprobe.results.finding import Finding
from kgprobe.results.finding_page import write_finding_page
from kgprobe.results.graph_rates import estimate_run
from kgprobe.running.rounds import continue_run
from kgprobe.running.runs import begin_run, get_run
from kgprobe.sampling.keys import FactKey
from tests.results.found import find_in_outcomes, find_in_run
from tests.results.rendering.page_numbers import apart, comparison_numbers, gap_numbers, page_numbers
from tests.running.killed_run import make_plan
from tests.stored import store_measurement
from tests.written_source import WrittenSource

AS_OF = 20200101
# Known of ten, by relation; the last one's facts cannot be asked.
KNOWN = {"born in": 8, "works for": 2, "has seen": 5, "married": 0}
RELATIONS = [Relation(name, name, clozes=("[X] is [Y]",)) for name in KNOWN]


def make_facts() -> list[Fact]:
    """Return facts of 90 people: many of the first relations, few of the others."""
    facts = []
    for place in range(90):
        begin = str(1990 + place % 4)
        facts.append(Fact(f"born in {place}", f"p{place}", "born in", f"town{place % 7}", start=begin))
        facts.append(Fact(f"works for {place}", f"p{place}", "works for", f"firm{place % 5}", start=begin))
        if place % 9 == 0:
            facts.append(Fact(f"has seen {place}", f"p{place}", "has seen", f"town{place % 7}"))
            facts.append(Fact(f"married {place}", f"p{place}", "married", f"p{place + 1}"))
    return facts


FACTS = make_facts()
ENTITIES = [
    *(Entity(f"p{n}", f"person {n}", types=("person",), popularity=float(n)) for n in range(91)),
    *(Entity(f"town{n}", f"town {n}", types=("town",)) for n in range(7)),
    *(Entity(f"firm{n}", f"firm {n}", types=("firm",)) for n in range(5)),
]


def answer(key: FactKey) -> Outcome:
    relation, _, place = key.fact.rpartition(" ")
    if relation == "married":
        return unaskable(key, relation, "no type")
    verdict = Verdict.RIGHT if int(place) * 7 % 10 < KNOWN[relation] else Verdict.WRONG
    return Outcome(key, verdict, relation, evidence=QuestionEvidence("yes/no", "Is it?", "It is.", 0.25, expected=True))


class KnowingProbe:
    """Knows the same facts each time."""

    relations = tuple(KNOWN)

    def describe(self) -> dict[str, Any]:
        return {"model": "m"}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:  # noqa: ARG002
        return list(map(answer, facts))


def run_finding(graph: Graph, name: str, sampling: str, facts_per_round: int = 24) -> Finding:
    plan = make_plan(
        name, rounds=4, facts_per_round=facts_per_round, seed=5, as_of=AS_OF, sampling=sampling, learner="hierarchical"
    )
    begin_run(graph, KnowingProbe(), plan, "questions")
    continue_run(graph, KnowingProbe(), plan)
    answers = run_folder(get_run(graph, name)) / FILE
    return find_in_run(graph, name, lambda: Outcomes(answers, QuestionEvidence), over_graph=estimate_run(graph, name))


@pytest.fixture
def findings(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Finding]:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    about = About("once", "m", "questions", AS_OF, 1, {"model": "m"}, {})
    once = [answer(FactKey(fact.subject, fact.id)) for fact in FACTS[:150]]
    return {
        "estimated": run_finding(graph, "estimated", "hardest"),
        "few answers": run_finding(graph, "few", "uniform", 4),
        "without estimate": run_finding(graph, "without", "sequential"),
        "once": find_in_outcomes(graph, about, lambda: once),
    }


def test_page_shows_one_number_for_one_thing(findings: dict[str, Finding], tmp_path: Path) -> None:
    for name, finding in findings.items():
        page = write_finding_page(tmp_path / f"{name}.html", finding).read_text(encoding="utf-8")
        assert apart(page_numbers(page)) == {}, name
        often = {meaning for meaning, texts in page_numbers(page).items() if len(texts) > 1}
        assert {"known", "facts", "guessing", "asked facts", "known by relation: works for"} <= often, name
    assert findings["without estimate"].over_graph is findings["once"].over_graph is None
    assert findings["few answers"].over_graph is not None


def test_page_of_a_comparison_shows_one_number_for_one_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    known = {"alpha": range(60, 160), "beta": range(70, 190)}
    alpha, beta = (
        kgprobe.open(store_measurement(tmp_path / name, {f"f{n:03}": n in own for n in range(200)}, model=name))
        for name, own in known.items()
    )
    right = {"right: alpha": "50%", "right: beta": "60%"}
    for result in (kgprobe.compare([alpha, beta]), kgprobe.check(alpha, beta)):
        numbers = comparison_numbers(result.page().read_text(encoding="utf-8"), list(known))
        assert apart(numbers) == {}, result.summary()
        expected = {"facts": "200", "points": "10.0", "forgotten": "10", "gained": "30", **right}
        assert {meaning: texts[0] for meaning, texts in numbers.items()} == expected


def test_page_of_a_gap_shows_one_number_for_one_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    relations = {f"f{n:03}": f"r{n % 3}" for n in range(200)}
    stored, said = (
        kgprobe.open(
            store_measurement(
                tmp_path / probe, {fact: fact >= first for fact in relations}, relations=relations, probe=probe
            )
        )
        for probe, first in (("distractors", "f060"), ("questions", "f120"))
    )
    page = kgprobe.gap(stored, said).page().read_text(encoding="utf-8")
    assert apart(gap_numbers(page)) == {}
    changes = {"missed of all": "43%", "facts": "200", "Known by questions of r2": "39%"}
    for meaning, text in changes.items():
        assert gap_numbers(page)[meaning][0] == text
        assert list(apart(gap_numbers(page.replace(f">{text}", ">9", 1)))) == [meaning]
