"""The finding of a run, against its definitions computed another way."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import integrate

from kgprobe.analysis.finding import find, year_of
from kgprobe.analysis.rates import share
from kgprobe.asking.rounds import Plan, apply_round
from kgprobe.beliefs.draw import credible_interval
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.records import Entity, Fact, Relation
from kgprobe.sampling.facts import FactKey
from tests.written_source import WrittenSource

RIGHT, WRONG, UNASKABLE = Verdict.RIGHT, Verdict.WRONG, Verdict.UNASKABLE


@given(some.integers(1, 500), some.data())
def test_a_share_has_wilsons_interval(total: int, data: some.DataObject) -> None:
    count = data.draw(some.integers(0, total))
    found = share(count, total)
    z = 1.959963984540054
    p = count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    assert found.value == p
    assert found.low == pytest.approx(max(0, middle - half), abs=1e-9)
    assert found.high == pytest.approx(min(1, middle + half), abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (2, 1), (1, 7), (12, 5), (300, 40)])
def test_a_credible_interval_holds_its_mass(alpha: int, beta: int) -> None:
    low, high = (float(bound[0]) for bound in credible_interval(np.array([alpha]), np.array([beta])))

    def density(theta: float) -> float:
        log_normal = math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)
        return math.exp(log_normal + (alpha - 1) * math.log(theta) + (beta - 1) * math.log(1 - theta))

    mode = alpha / (alpha + beta)
    for start, end, mass in ((0, low, 0.05), (low, high, 0.9), (high, 1, 0.05)):
        points = [point for point in (mode,) if start < point < end]
        assert integrate.quad(density, start, end, points=points or None)[0] == pytest.approx(mass, abs=1e-5)


ENTITIES = [Entity(f"e{n}", f"name {n}", types=("t",)) for n in range(12)]
# Six facts that share no entity, so that nothing is propagated between them; three of each relation.
FACTS = [Fact(f"f{n}", f"e{2 * n}", f"r{n % 2}", f"e{2 * n + 1}") for n in range(6)]
RELATIONS = [Relation("r0", "first"), Relation("r1", "second <b>")]


def outcome(number: int, verdict: Verdict, **evidence: Any) -> Outcome:
    fact = FACTS[number]
    reason = "no type" if verdict is UNASKABLE else None
    return Outcome(FactKey(fact.subject, fact.id), verdict, f"prompt {number}", reason, {"chance": 0.25} | evidence)


ROUNDS = [
    [outcome(0, RIGHT), outcome(1, WRONG, winner="one"), outcome(2, RIGHT), outcome(5, UNASKABLE)],
    [outcome(0, RIGHT), outcome(1, WRONG, winner="two"), outcome(2, WRONG, winner="three"), outcome(3, WRONG)],
    [outcome(0, RIGHT), outcome(1, WRONG, winner="four"), outcome(3, RIGHT, chance=0.5), outcome(3, WRONG)],
]


def trail() -> list[dict[str, Any]]:
    return [
        {
            "round": number,
            "fact": made.fact.fact,
            "verdict": made.verdict.value,
            "prompt": f"{made.prompt} in round {number}",
            "evidence": dict(made.evidence),
        }
        for number, round_ in enumerate(ROUNDS, start=1)
        for made in round_
    ]


PROPERTIES = {
    "model": "m",
    "probe": "p",
    "as_of": 20250101,
    "seed": 1,
    "config": "{}",
    "versions": "{}",
    "sampling": "thompson",
}


@pytest.fixture
def asked(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    properties = {
        "model": "m",
        "probe": "p",
        "as_of": 20250101,
        "seed": 1,
        "config": "{}",
        "versions": "{}",
        "sampling": "thompson",
    }
    graph.write("beliefs/begin_run", id="run", properties=properties)
    for number, round_ in enumerate(ROUNDS, start=1):
        apply_round(graph, Plan("run", as_of=20250101), "m", ["r0", "r1"], number, round_)
    return graph


def test_a_finding_counts_own_answers(asked: Graph) -> None:
    finding = find(asked, "run", trail)
    # f0 3:0, f1 0:3, f2 1:1, f3 1:2; f5 could not be asked.
    assert (finding.overall.facts, finding.asked, finding.rounds) == (4, 11, 3)
    assert finding.overall.win_rate == share(1, 4)
    assert finding.overall.zero_sense_rate == share(1, 4)
    assert [(group.name, group.facts, group.win_rate.value) for group in finding.groupings[0].groups] == [
        ("first", 2, 0.5),
        ("second <b>", 2, 0.0),
    ]
    assert finding.unaskable == {"no type": 1}
    assert finding.chance == pytest.approx((10 * 0.25 + 0.5) / 11)


@pytest.mark.parametrize(
    ("date", "year"),
    [
        ("2011-05", 2011),
        ("-0044", -44),
        ("+2011-05-01T00:00:00Z", 2011),
        ("12011", 12011),
        ("soon", None),
        (None, None),
    ],
)
def test_the_year_of_a_date(date: str | None, year: int | None) -> None:
    assert year_of(date) == year


def test_facts_are_grouped_by_what_they_are_about(graph: Graph) -> None:
    people = [
        Entity("t", "town"),
        Entity("u"),
        Entity("a", "Ay", types=("t", "u")),
        Entity("b", "Bee", types=("u",)),
        Entity("c", "Sea"),
        Entity("+1990-05-01", "1990-05-01", value="+1990-05-01T00:00:00Z", datatype="time"),
    ]
    facts = [
        Fact("f0", "a", "r0", "c", start="2001-02"),
        Fact("f1", "b", "r0", "c"),
        Fact("f2", "a", "r1", "b", start="-0044"),
        Fact("dated", "a", "date", "+1990-05-01"),
    ]
    load(graph, WrittenSource(people, facts, RELATIONS))
    graph.write("beliefs/begin_run", id="run", properties=PROPERTIES)
    answers = ((facts[0], RIGHT), (facts[1], Verdict.REFUSED), (facts[2], WRONG))
    outcomes = [Outcome(FactKey(fact.subject, fact.id), verdict, "q") for fact, verdict in answers]
    apply_round(graph, Plan("run", as_of=20250101), "m", ["r0", "r1"], 1, outcomes)

    def groups(**options: Any) -> dict[str, list[tuple[str, int, float]]]:
        finding = find(graph, "run", list, **options)
        return {one.by: [(g.name, g.facts, g.win_rate.value) for g in one.groups] for one in finding.groupings}

    assert groups() == {
        "relation": [("first", 2, 0.5), ("second <b>", 1, 0.0)],
        "entity": [("Ay", 2, 0.5), ("Bee", 2, 0.0), ("Sea", 2, 0.5)],
        # Type u has no name.
        "type": [("u", 3, pytest.approx(1 / 3)), ("town", 2, 0.5)],
        "year": [("-44", 1, 0.0), ("2001", 1, 1.0)],
    }
    assert groups(year_relation="date")["year"] == [("1990", 2, 0.5)]
    assert "year" not in groups(year_relation="nothing")
    heard = find(graph, "run", list).overall
    assert (heard.win_rate, heard.heard, heard.heard_win_rate) == (share(1, 3), 2, share(1, 2))


def test_relations_of_one_label_are_told_apart(asked: Graph) -> None:
    load(asked, WrittenSource([], [], [Relation("r1", "first"), Relation("r0", "first")]))
    finding = find(asked, "run", trail)
    assert [(group.name, group.facts, group.win_rate.value) for group in finding.groupings[0].groups] == [
        ("first (r0)", 2, 0.5),
        ("first (r1)", 2, 0.0),
    ]
    assert [fact.relation for fact in (*finding.unknown, *finding.known)] == ["first (r1)"] * 2 + ["first (r0)"]


def test_facts_are_ranked_by_how_sure_one_can_be(asked: Graph) -> None:
    finding = find(asked, "run", trail)
    assert [(fact.fact, fact.right, fact.wrong) for fact in finding.unknown] == [("f1", 0, 3), ("f3", 1, 2)]
    assert [(fact.fact, fact.right, fact.wrong) for fact in finding.known] == [("f0", 3, 0)]
    worst, known = finding.unknown[0], finding.known[0]
    assert (worst.question, worst.winner) == ("prompt 1 in round 3 …", "four")
    assert (worst.theta, known.theta) == (0.8, 0.2)
    assert worst.low > finding.unknown[1].low
    # Beta(4, 1) and Beta(1, 4) have quantiles in closed form.
    assert (worst.low, worst.high) == pytest.approx((0.05**0.25, 0.95**0.25))
    assert (known.low, known.high) == pytest.approx((1 - 0.95**0.25, 1 - 0.05**0.25))
    assert find(asked, "run", trail, shown=1).unknown == finding.unknown[:1]


def test_a_fact_is_shown_by_a_question_that_went_as_it_is_listed(asked: Graph) -> None:
    apply_round(asked, Plan("run", as_of=20250101), "m", ["r0", "r1"], 4, [outcome(0, WRONG), outcome(1, RIGHT)])
    later = [
        {"fact": "f0", "verdict": "right", "prompt": "some won", "evidence": {"winner": "nobody to show"}},
        {"fact": "f0", "verdict": "wrong", "prompt": "lost", "evidence": {"winner": "Kyoto"}},
        {"fact": "f1", "verdict": "right", "prompt": "won", "evidence": {}},
    ]
    finding = find(asked, "run", lambda: [*trail(), *later])
    (known,) = finding.known
    assert (known.fact, known.right, known.wrong, known.question, known.winner) == ("f0", 3, 1, "some won …", None)
    unknown = finding.unknown[0]
    assert (unknown.fact, unknown.right, unknown.wrong) == ("f1", 1, 3)
    assert (unknown.question, unknown.winner) == ("prompt 1 in round 3 …", "four")


def test_all_that_is_right_to_a_question_is_shown(asked: Graph) -> None:
    right = [{"id": "a", "names": ["this", "it"]}, {"id": "b", "names": ["that"]}]
    shown = [
        {"fact": "f0", "verdict": "right", "prompt": "…", "evidence": {"question": "Is it?", "expected": False}},
        {"fact": "f1", "verdict": "wrong", "prompt": "…", "evidence": {"question": "What is it?", "right": right}},
    ]
    finding = find(asked, "run", lambda: shown)
    assert (finding.known[0].question, finding.known[0].answer) == ("Is it?", "no")
    assert (finding.unknown[0].question, finding.unknown[0].answer) == ("What is it?", "this; that")


@pytest.mark.parametrize(("own", "neighbours"), [(RIGHT, WRONG), (WRONG, RIGHT)])
def test_a_fact_that_its_neighbours_speak_against_is_not_surely_anything(
    graph: Graph, own: Verdict, neighbours: Verdict
) -> None:
    facts = [Fact(f"g{n}", "e0", "r0", f"e{n}") for n in range(1, 5)]
    load(graph, WrittenSource(ENTITIES, facts, RELATIONS))
    properties = {
        "model": "m",
        "probe": "p",
        "as_of": 20250101,
        "seed": 1,
        "config": "{}",
        "versions": "{}",
        "sampling": "thompson",
    }
    graph.write("beliefs/begin_run", id="run", properties=properties)
    outcomes = [Outcome(FactKey("e0", fact.id), neighbours if fact.id != "g1" else own, "q") for fact in facts]
    apply_round(graph, Plan("run", as_of=20250101), "m", ["r0"], 1, outcomes)
    finding = find(graph, "run", list)
    assert finding.overall.facts == 4
    listed = {"known": {fact.fact for fact in finding.known}, "unknown": {fact.fact for fact in finding.unknown}}
    others = {"g2", "g3", "g4"}
    assert listed == ({"known": set(), "unknown": others} if own is RIGHT else {"known": others, "unknown": set()})


def test_a_run_without_answers_has_no_finding(asked: Graph) -> None:
    asked.write("beliefs/begin_run", id="idle", properties={"model": "m", "probe": "p"})
    with pytest.raises(KgprobeError, match="has not got an answer"):
        find(asked, "idle", list)
    with pytest.raises(UnknownNameError, match=r"there are: idle, run|there are: run, idle"):
        find(asked, "other", list)
