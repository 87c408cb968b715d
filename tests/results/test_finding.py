"""The finding of a run and of a measurement, against its definitions computed another way."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from scipy import integrate, stats

from kgprobe.api.graphs import draw_graph, paint_beliefs
from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.intervals import Share
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.base.tables import Table
from kgprobe.beliefs.draw import credible_interval
from kgprobe.beliefs.register import LEARNERS
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import read_beliefs
from kgprobe.graph.state import graph_state
from kgprobe.probes.distractors.evidence import curve_tables
from kgprobe.probes.outcome import Outcome, Verdict, guessing_chance, unaskable
from kgprobe.probes.questions.evidence import QuestionEvidence, RightAnswer
from kgprobe.results.about import About
from kgprobe.results.finding import Finding
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.years import YearSource
from kgprobe.stats.proportions import mean_share, share
from tests.probes.distractors.written import distractor_evidence
from tests.results.found import find_in_outcomes, find_in_run
from tests.running.killed_run import make_plan
from tests.written_source import WrittenSource

RIGHT, WRONG, UNASKABLE = Verdict.RIGHT, Verdict.WRONG, Verdict.UNASKABLE


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (2, 1), (1, 7), (12, 5), (300, 40)])
def test_credible_interval_holds_its_mass(alpha: int, beta: int) -> None:
    low, high = (float(bound[0]) for bound in credible_interval(np.array([alpha]), np.array([beta])))

    def density(theta: float) -> float:
        log_normal = math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)
        return math.exp(log_normal + (alpha - 1) * math.log(theta) + (beta - 1) * math.log(1 - theta))

    mode = alpha / (alpha + beta)
    for start, end, mass in ((0, low, 0.05), (low, high, 0.9), (high, 1, 0.05)):
        points = [point for point in (mode,) if start < point < end]
        assert integrate.quad(density, start, end, points=points or None)[0] == pytest.approx(mass, abs=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 4), (0.03, 0.9), (9, 0.12), (0.3, 0.2)])
def test_credible_interval_of_skewed_has_its_mean(alpha: float, beta: float) -> None:
    low, high = (float(bound[0]) for bound in credible_interval(np.array([alpha]), np.array([beta])))
    assert 0 <= low <= alpha / (alpha + beta) <= high <= 1
    assert stats.beta.cdf(high, alpha, beta) - stats.beta.cdf(low, alpha, beta) == pytest.approx(0.9, abs=1e-4)


ENTITIES = [Entity(f"e{n}", f"name {n}", types=("t",)) for n in range(12)]
# Six facts that share no entity, so that nothing is propagated between them; three of each relation.
FACTS = [Fact(f"f{n}", f"e{2 * n}", f"r{n % 2}", f"e{2 * n + 1}") for n in range(6)]
RELATIONS = [Relation("r0", "first"), Relation("r1", "second <b>")]
LABELS = {relation.id: relation.label for relation in RELATIONS}


def apply(
    graph: Graph, labels: dict[str, str], number: int, outcomes: list[Outcome], learner: str = "propagation"
) -> None:
    plan = make_plan("run", as_of=20250101, learner=learner)
    run = {"id": "run", "uid": "00000000", "model": "m", "relations": list(labels), "as_of": 20250101}
    run["graph"] = graph_state(graph)
    chances = [guessing_chance(outcome) for outcome in outcomes]
    LEARNERS[learner].load()(graph, plan, run, labels).apply(number, outcomes)(chances, lambda: None)


def question_of(number: int) -> str:
    return f"Is it {number}?"


def outcome(number: int, verdict: Verdict, prediction: str = "It is.", chance: float = 0.25, when: str = "") -> Outcome:
    """Return what a question about a fact came to; the model said ``prediction`` where it was wrong."""
    fact = FACTS[number]
    key = FactKey(fact.subject, fact.id)
    if verdict is UNASKABLE:
        return unaskable(key, fact.relation, "no type")
    text, error = f"{question_of(number)}{when}", "factual" if verdict.is_failure else None
    reason = "the server hung up" if verdict is Verdict.UNANSWERED else None
    answer = None if reason else prediction
    evidence = QuestionEvidence("yes/no", text, answer, chance, expected=True, error=error)
    return Outcome(key, verdict, fact.relation, f"prompt {number}", reason, evidence)


ROUNDS = [
    [outcome(0, RIGHT), outcome(1, WRONG, "one"), outcome(2, RIGHT), outcome(5, UNASKABLE)],
    [outcome(0, RIGHT), outcome(1, WRONG, "two"), outcome(2, WRONG, "three"), outcome(3, WRONG)],
    [outcome(0, RIGHT), outcome(1, WRONG, "four", when=" Again?"), outcome(3, RIGHT, chance=0.5), outcome(3, WRONG)],
]
OUTCOMES = [made for round_ in ROUNDS for made in round_]

PROPERTIES = {
    "form": 6,
    "model": "m",
    "probe": "questions",
    "as_of": 20250101,
    "seed": 1,
    "config": '{"model": "m"}',
    "versions": "{}",
    "sampling": "thompson",
    "uid": "00000000",
    "options": "{}",
    "local": "null",
    "rounds": 1,
    "facts_per_round": 4,
    "max_degree": 1000,
    "learner": "propagation",
    "stop_at_width": 0.0,
    "stop_at_change": 0.0,
    "aim": "failures",
    "relations": ["r0", "r1"],
    "graph": "{}",
    "frame": 6,
    "frame_digest": "",
    "asked": 0,
    "unaskable": 0,
    "unanswered": 0,
    "reversed": False,
}
ABOUT = About("measured", "m", "questions", 20250101, 1, {"model": "m"}, {})


def outcomes() -> list[Outcome]:
    return OUTCOMES


@pytest.fixture
def asked(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    graph.write("beliefs/begin_run", id="run", properties={**PROPERTIES, "graph": graph_state(graph)})
    for number, round_ in enumerate(ROUNDS, start=1):
        apply(graph, LABELS, number, round_)
    return graph


def test_finding_counts_own_answers(asked: Graph) -> None:
    finding = find_in_run(asked, "run", outcomes)
    # f0 3:0, f1 0:3, f2 1:1, f3 1:2; f5 could not be asked.
    assert (finding.overall.facts, finding.asked, finding.about.rounds) == (4, 11, 3)
    assert (finding.about.name, finding.about.model, finding.about.described) == ("run", "m", {"model": "m"})
    assert (finding.about.sampling, finding.about.caveat is None) == ("thompson", False)
    assert finding.overall.win_rate == share(1, 4)
    facts = finding.facts.set_index("fact")
    assert facts[["right", "wrong"]].to_dict("index") == {
        "f0": {"right": 3, "wrong": 0},
        "f1": {"right": 0, "wrong": 3},
        "f2": {"right": 1, "wrong": 1},
        "f3": {"right": 1, "wrong": 2},
    }
    for fact in (*finding.known, *finding.unknown):
        assert fact.known == Share(*facts.loc[fact.fact, ["known", "known_low", "known_high"]])
        assert facts.loc[fact.fact, "theta"] == pytest.approx(1 - fact.known.value)
    said = "m is right on 25% [5, 70] of the 4 facts asked; guessing 16%: no more than guessing can be told"
    assert finding.headline == said
    assert finding.overall.zero_sense_rate == share(1, 4)
    assert [(group.name, group.facts, group.win_rate.value) for group in finding.groupings[0].groups] == [
        ("first", 2, 0.5),
        ("second <b>", 2, 0.0),
    ]
    assert finding.unaskable == {"no type": 1}
    assert finding.chance == pytest.approx((10 * 0.25 + 0.5) / 11)


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
    graph.write("beliefs/begin_run", id="run", properties={**PROPERTIES, "graph": graph_state(graph)})
    answers = ((facts[0], RIGHT), (facts[1], Verdict.REFUSED), (facts[2], WRONG))
    outcomes = [Outcome(FactKey(fact.subject, fact.id), verdict, fact.relation) for fact, verdict in answers]
    apply(graph, LABELS, 1, outcomes)

    def groups(**options: Any) -> dict[str, list[tuple[str, int, float]]]:
        finding = find_in_run(graph, "run", list, **options)
        return {entry.by: [(g.name, g.facts, g.win_rate.value) for g in entry.groups] for entry in finding.groupings}

    assert groups() == {
        "relation": [("first", 2, 0.5), ("second <b>", 1, 0.0)],
        "entity": [("Ay", 2, 0.5), ("Bee", 2, 0.0), ("Sea", 2, 0.5)],
        # Type u has no name.
        "type": [("u", 3, pytest.approx(1 / 3)), ("town", 2, 0.5)],
        "year": [("-44", 1, 0.0), ("2001", 1, 1.0)],
    }
    assert groups(year_relation="date")["year"] == [("1990", 2, 0.5)]
    assert "year" not in groups(year_relation="nothing")
    source = find_in_run(graph, "run", list).year_source
    assert source == YearSource("start", "start of the fact", 2, 3)
    assert source.note == "Year: start of the fact; 2 of 3 facts have one."
    # Fewer than half of the facts have a start: the date that most subjects have is taken.
    more = [Fact(f"{subject} out", subject, "P577", "+1990-05-01") for subject in ("a", "b")]
    later = [replace(facts[0], start=None), facts[1], facts[2], facts[3], *more]
    load(graph, WrittenSource(people, later, [*RELATIONS, Relation("P577", "publication date")]))
    assert groups()["year"] == [("1990", 3, pytest.approx(1 / 3))]
    chosen = find_in_run(graph, "run", list)
    assert chosen.to_dict()["year"] == {"relation": "P577", "name": "publication date", "dated": 3, "facts": 3}
    (table,) = [table for table in chosen.group_tables() if table.key == "by_year"]
    assert "Year: publication date of the subject; 3 of 3 facts have one." in table.notes
    assert groups(year_relation="start")["year"] == [("-44", 1, 0.0)]
    heard = find_in_run(graph, "run", list).overall
    assert (heard.win_rate, heard.heard, heard.heard_win_rate) == (share(1, 3), 2, share(1, 2))


def test_relations_of_one_label_are_told_apart(asked: Graph) -> None:
    load(asked, WrittenSource([], [], [Relation("r1", "first"), Relation("r0", "first")]))
    finding = find_in_run(asked, "run", outcomes)
    assert [(group.name, group.facts, group.win_rate.value) for group in finding.groupings[0].groups] == [
        ("first (r0)", 2, 0.5),
        ("first (r1)", 2, 0.0),
    ]
    assert [fact.relation for fact in (*finding.unknown, *finding.known)] == ["first (r1)"] * 2 + ["first (r0)"] * 2


def test_facts_are_ranked_by_how_sure_one_can_be(asked: Graph) -> None:
    finding = find_in_run(asked, "run", outcomes)
    unknown = [("f1", 0, 3), ("f3", 1, 2), ("f2", 1, 1)]
    assert [(fact.fact, fact.right, fact.wrong) for fact in finding.unknown] == unknown
    assert [(fact.fact, fact.right, fact.wrong) for fact in finding.known] == [("f0", 3, 0)]
    worst, known = finding.unknown[0], finding.known[0]
    assert (worst.question, worst.prediction) == ("Is it 1? Again?", "four")
    assert (worst.answer, known.question, known.prediction) == ("yes", "Is it 0?", None)
    assert (worst.known.value, known.known.value) == pytest.approx((0.2, 0.8))
    assert worst.known.high < finding.unknown[1].known.high
    # Beta(4, 1) and Beta(1, 4) have quantiles in closed form.
    assert (worst.known.low, worst.known.high) == pytest.approx((1 - 0.95**0.25, 1 - 0.05**0.25))
    assert (known.known.low, known.known.high) == pytest.approx((0.05**0.25, 0.95**0.25))
    assert find_in_run(asked, "run", outcomes, shown=1).unknown == finding.unknown[:1]
    # The bounds at three answers, 0.47 and 0.53, are not yet beyond one half.
    assert {fact.belief for fact in (*finding.unknown, *finding.known)} == {
        BeliefWord.LEANS_UNKNOWN,
        BeliefWord.LEANS_KNOWN,
    }


def test_what_is_believed_is_told_in_words_that_are_earned(asked: Graph) -> None:
    def more(number: int) -> list[list[Outcome]]:
        verdicts = [outcome(0, RIGHT), outcome(1, WRONG), outcome(4, RIGHT, chance=0.9)]
        return [verdicts] * number

    for number, made in enumerate(more(4), start=4):
        apply(asked, LABELS, number, made)
    everything = [*OUTCOMES, *(entry for made in more(4) for entry in made)]
    finding = find_in_run(asked, "run", lambda: everything)
    words = dict(zip(finding.facts["fact"], finding.facts["belief"], strict=True))
    # A guesser is right on f4 nine times in ten, and on all four of its questions more often than not.
    assert words == {
        "f0": "surely known",
        "f1": "surely unknown",
        "f2": "leans unknown",
        "f3": "leans unknown",
        "f4": "leans known",
    }
    assert [word.value for word, count in finding.believed.items() for _ in range(count)] == sorted(
        words.values(), key=[word.value for word in BeliefWord].index
    )
    # What is sure stands above what leans, though that has the narrower interval.
    for number in range(8, 14):
        apply(asked, LABELS, number, [outcome(4, RIGHT, chance=0.9)])
        everything.append(outcome(4, RIGHT, chance=0.9))
    finding = find_in_run(asked, "run", lambda: everything)
    assert [(fact.fact, fact.belief) for fact in finding.known] == [
        ("f0", BeliefWord.SURELY_KNOWN),
        ("f4", BeliefWord.LEANS_KNOWN),
    ]
    assert finding.known[1].known.low > finding.known[0].known.low


def test_queries_for_people_tell_what_a_finding_tells(asked: Graph) -> None:
    finding = find_in_run(asked, "run", outcomes)
    for query, facts in (("explore/unknown", finding.unknown), ("explore/known", finding.known)):
        rows = asked.query(query)
        assert [row["fact"] for row in rows] == [fact.fact for fact in facts]
        for row, fact in zip(rows, facts, strict=True):
            assert (row["right"], row["wrong"], row["subject"]) == (fact.right, fact.wrong, fact.subject)
            told = (row["known"], row["known_low"], row["known_high"])
            assert told == pytest.approx((fact.known.value, fact.known.low, fact.known.high), rel=1e-12)
            assert row["question"] == fact.question
    by_relation = {row["relation"]: row["known"] for row in asked.query("explore/by_relation")}
    groups = {group.name: group.win_rate.value for group in finding.groupings[0].groups}
    assert by_relation == {"r0": groups["first"], "r1": groups["second <b>"]}


def test_fact_is_shown_by_a_question_that_went_as_it_is_listed(asked: Graph) -> None:
    apply(asked, LABELS, 4, [outcome(0, WRONG), outcome(1, RIGHT)])
    later = [
        outcome(0, RIGHT, "nobody to show", when=" Some won?"),
        outcome(0, WRONG, "Kyoto", when=" Lost?"),
        outcome(1, RIGHT, when=" Won?"),
    ]
    finding = find_in_run(asked, "run", lambda: [*OUTCOMES, *later])
    (known,) = finding.known
    assert (known.fact, known.right, known.wrong) == ("f0", 3, 1)
    assert (known.question, known.prediction) == ("Is it 0? Some won?", None)
    unknown = finding.unknown[0]
    assert (unknown.fact, unknown.right, unknown.wrong) == ("f1", 1, 3)
    assert (unknown.question, unknown.prediction) == ("Is it 1? Again?", "four")


def test_all_that_is_right_to_a_question_is_shown(asked: Graph) -> None:
    right = (RightAnswer("a", ("this", "it")), RightAnswer("b", ("that",)))
    denied = QuestionEvidence("yes/no", "Is it?", "No.", 0.5, expected=False)
    asked_for = QuestionEvidence("wh", "What is it?", "a thing", 0.0, right=right, error="factual")
    shown = [
        Outcome(FactKey("e0", "f0"), RIGHT, "r0", evidence=denied),
        Outcome(FactKey("e2", "f1"), WRONG, "r1", evidence=asked_for),
    ]
    finding = find_in_run(asked, "run", lambda: shown)
    assert (finding.known[0].question, finding.known[0].answer) == ("Is it?", "no")
    assert (finding.unknown[0].question, finding.unknown[0].answer) == ("What is it?", "this (also right: that)")


@pytest.mark.parametrize(("own", "neighbours"), [(RIGHT, WRONG), (WRONG, RIGHT)])
def test_fact_that_its_neighbours_speak_against_leans(graph: Graph, own: Verdict, neighbours: Verdict) -> None:
    facts = [Fact(f"g{n}", "e0", "r0", f"e{n}") for n in range(1, 5)]
    load(graph, WrittenSource(ENTITIES, facts, RELATIONS))
    graph.write("beliefs/begin_run", id="run", properties={**PROPERTIES, "graph": graph_state(graph)})
    outcomes = [Outcome(FactKey("e0", fact.id), neighbours if fact.id != "g1" else own, "r0") for fact in facts]
    apply(graph, {"r0": "r0"}, 1, outcomes)
    finding = find_in_run(graph, "run", list)
    assert finding.overall.facts == 4
    (fact,) = finding.known if own is RIGHT else finding.unknown
    assert (fact.fact, fact.known.value < 0.5) == ("g1", own is RIGHT)
    assert fact.belief is (BeliefWord.LEANS_KNOWN if own is RIGHT else BeliefWord.LEANS_UNKNOWN)


def test_belief_word_page_queries_and_paint_agree(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    facts = [FACTS[4], *(Fact(f"g{n}", "e0", "r0", f"e{n}") for n in range(1, 8))]
    load(graph, WrittenSource(ENTITIES, facts, RELATIONS))
    graph.write("beliefs/begin_run", id="run", properties={**PROPERTIES, "graph": graph_state(graph)})
    guess = QuestionEvidence("yes/no", "Is it?", "It is.", 0.1, expected=True)
    round_ = [
        outcome(4, RIGHT, chance=0.9),
        Outcome(FactKey("e0", "g1"), WRONG, "r0", evidence=guess),
        *(Outcome(FactKey("e0", f"g{n}"), RIGHT, "r0", evidence=guess) for n in range(2, 8)),
    ]
    for number in range(1, 5):
        apply(graph, LABELS, number, round_)
    finding = find_in_run(graph, "run", lambda: round_ * 4)
    words = dict(zip(finding.facts["fact"], finding.facts["belief"], strict=True))
    # A guesser would do as well on f4; g1 was answered wrong alone, and its neighbours outweigh that.
    sure = {f"g{n}": "surely known" for n in range(2, 8)}
    assert words == {"f4": "leans known", "g1": "leans unknown", **sure}
    assert finding.facts.set_index("fact").loc[["f4", "g1"], "known_low"].min() > 0.5
    listed = [*finding.known, *finding.unknown]
    assert {fact.fact: fact.belief.value for fact in listed} == words
    rows = [*graph.query("explore/known"), *graph.query("explore/unknown")]
    assert {row["fact"]: row["believed"] for row in rows} == words
    assert [row["fact"] for row in rows] == [fact.fact for fact in listed]
    assert {fact: belief.believed for fact, belief in read_beliefs(graph, "run", words).items()} == words
    drawn = draw_graph(graph, "e0", run="run").subgraph.beliefs
    assert {fact: belief.believed for fact, belief in drawn.items()} == {fact: words[fact] for fact in ("g1", *sure)}
    counts = {type_: count for type_, count in paint_beliefs(graph, "run").counts.items() if count}
    assert counts == {"KNOWN": 6, "LEANS_KNOWN": 1, "LEANS_UNKNOWN": 1}


def test_run_without_answers_has_no_finding(asked: Graph) -> None:
    asked.write("beliefs/begin_run", id="idle", properties=PROPERTIES)
    with pytest.raises(KgprobeError, match="has no answers yet"):
        find_in_run(asked, "idle", list)
    with pytest.raises(UnknownNameError, match=r"runs of this graph: (idle, run|run, idle)"):
        find_in_run(asked, "other", list)


def test_what_the_probe_has_to_tell_is_in_the_finding(asked: Graph) -> None:
    finding = find_in_run(asked, "run", outcomes)
    caveat = finding.about.caveat
    rates, *tables = finding.probe_tables
    assert (rates.key, rates.rows[0]["facts"]) == ("answers", finding.overall.facts)
    assert tables == [
        replace(entry, notes=(*entry.notes, caveat)) for entry in QuestionEvidence.results(OUTCOMES, {}).tables
    ]
    compared = [
        Outcome(FactKey("e0", "f0"), RIGHT, "r0", evidence=distractor_evidence([[-1.0, -2.0, -3.0]])),
        Outcome(FactKey("e2", "f1"), WRONG, "r1", evidence=distractor_evidence([[-1.0, -2.0, -0.5]])),
    ]
    about = replace(ABOUT, probe="distractors", described={"distractors": 2})
    finding = find_in_outcomes(asked, about, lambda: compared)
    assert finding.probe_tables == curve_tables(compared, {"distractors": 2})
    assert [table.key for table in finding.probe_tables] == ["curves"]
    assert (finding.unknown[0].question, finding.unknown[0].prediction) == ("prompt 0 …", "rival 1")
    assert (finding.unknown[0].answer, finding.chance) == ("Tokyo", pytest.approx(1 / 3))


def test_finding_as_json_has_rates_and_tables(asked: Graph) -> None:
    finding = find_in_run(asked, "run", outcomes)
    told = json.loads(msgspec.json.encode(finding.to_dict()))
    assert (told["facts_asked"], told["win_rate"], told["zero_sense_rate"]) == (4, 0.25, 0.25)
    rates = {"win_rate": finding.overall.win_rate, "zero_sense_rate": finding.overall.zero_sense_rate}
    for name, rate in rates.items():
        assert (told[f"{name}_low"], told[f"{name}_high"]) == (rate.low, rate.high)
    assert told["chance"] == finding.chance
    assert list(told["tables"]) == ["answers", "kinds", "sides", "errors"]
    assert told["net_score"] == told["tables"]["answers"]["rows"][0]["net score"]
    assert told["tables"]["kinds"]["rows"][0]["answers"] == 11


verdicts = some.lists(some.sampled_from(Verdict), min_size=len(FACTS), max_size=len(FACTS))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(verdicts, some.randoms())
def test_finding_of_a_measurement_is_what_its_outcomes_say(
    asked: Graph, drawn: list[Verdict], shuffle: random.Random
) -> None:
    made = [outcome(number, verdict, f"said {number}", number / 10) for number, verdict in enumerate(drawn)]
    shuffle.shuffle(made)
    heard = [entry for entry in made if entry.verdict not in (UNASKABLE, Verdict.UNANSWERED)]
    if not heard:
        with pytest.raises(KgprobeError, match="'measured' has no answers yet"):
            find_in_outcomes(asked, ABOUT, lambda: made)
        return
    finding = find_in_outcomes(asked, ABOUT, lambda: iter(made))
    right = [entry for entry in heard if entry.verdict is RIGHT]
    readable = [entry for entry in heard if entry.verdict in (RIGHT, WRONG)]
    assert finding.asked == finding.overall.facts == len(heard)
    assert finding.overall.win_rate == share(len(right), len(heard))
    assert finding.overall.zero_sense_rate == share(len(heard) - len(right), len(heard))
    assert (finding.overall.heard, finding.overall.heard_win_rate) == (
        len(readable),
        share(len(right), len(readable)) if readable else None,
    )
    assert finding.has_silence == (len(readable) < len(heard))
    chances = [
        entry.evidence.chance for entry in heard if entry.evidence is not None and entry.evidence.chance is not None
    ]
    assert finding.chance == pytest.approx(sum(chances) / len(chances))
    # One answer beside Beta(1, 1): the mean of Beta(1, 2) and Beta(2, 1).
    assert finding.mean_known == pytest.approx((len(right) * 2 / 3 + (len(heard) - len(right)) / 3) / len(heard))
    by_relation: dict[str, list[bool]] = {}
    for entry in heard:
        by_relation.setdefault({"r0": "first", "r1": "second <b>"}[entry.relation], []).append(entry.verdict is RIGHT)
    assert {group.name: (group.facts, group.win_rate) for group in finding.groupings[0].groups} == {
        name: (len(its), share(sum(its), len(its))) for name, its in by_relation.items()
    }
    # All are equally sure, so they stand in the order of their ids.
    failed = sorted(entry.fact.fact for entry in heard if entry.verdict is not RIGHT)
    assert [fact.fact for fact in finding.unknown] == failed
    assert [fact.fact for fact in finding.known] == sorted(entry.fact.fact for entry in right)
    assert [fact.prediction for fact in finding.unknown] == [f"said {fact[1:]}" for fact in failed]
    reasons = {UNASKABLE: "no type", Verdict.UNANSWERED: "the server hung up"}
    for verdict, counted in ((UNASKABLE, finding.unaskable), (Verdict.UNANSWERED, finding.unanswered)):
        silent = sum(entry.verdict is verdict for entry in made)
        assert counted == ({reasons[verdict]: silent} if silent else {})
    tables = QuestionEvidence.results(made, {}).tables
    assert list(map(Table.to_dict, finding.probe_tables[1:])) == list(map(Table.to_dict, tables))
    value = {RIGHT: 1, Verdict.REFUSED: 0}
    for row, group in zip(finding.answer_rates, ("", *[row.name for row in finding.answer_rates[1:]]), strict=True):
        own = [entry for entry in heard if not group or {"r0": "first", "r1": "second <b>"}[entry.relation] == group]
        net = sum(value.get(entry.verdict, -1) for entry in own) / len(own)
        assert (row.facts, row.net_score.value) == (len(own), pytest.approx(net))
        assert row.refused == mean_share([float(entry.verdict is Verdict.REFUSED) for entry in own])


def test_measurement_equals_a_run_without_propagation(graph: Graph) -> None:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    graph.write("beliefs/begin_run", id="run", properties=PROPERTIES | {"sampling": "sequential"})
    made = [outcome(number, verdict) for number, verdict in enumerate((RIGHT, WRONG, Verdict.REFUSED, UNASKABLE))]
    apply(graph, LABELS, 1, made, learner="independent")
    run, measured = find_in_run(graph, "run", lambda: made), find_in_outcomes(graph, ABOUT, lambda: made)
    assert (measured.about.rounds, measured.about.sampling, measured.about.caveat) == (None, None, None)
    assert without_origin(run) == without_origin(measured)


def without_origin(finding: Finding) -> Finding:
    return replace(finding, about=ABOUT)


def test_facts_deleted_from_graph_are_left_out_or_an_error(asked: Graph) -> None:
    gone = replace_fact(outcome(0, RIGHT), FactKey("e0", "gone"))
    finding = find_in_outcomes(asked, ABOUT, lambda: [gone, outcome(1, WRONG)])
    assert finding.overall.facts == 1
    with pytest.raises(KgprobeError, match="None of the asked facts is in this graph any more"):
        find_in_outcomes(asked, ABOUT, lambda: [gone])


def replace_fact(made: Outcome, key: FactKey) -> Outcome:
    return msgspec.structs.replace(made, fact=key)


def test_facts_asked_by_generic_templates_are_a_group(graph: Graph) -> None:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    about = replace(ABOUT, described={"model": "m", "generic": ["r1"]})
    [grouping] = [each for each in find_in_outcomes(graph, about, lambda: OUTCOMES).groupings if each.by == "templates"]
    sizes = {group.name: (group.facts, group.win_rate.value) for group in grouping.groups}
    # Of r1, f1 is wrong and f3 has more wrong than right answers; of r0, f0 is right, and f2 a tie.
    assert sizes == {"written": (2, 0.5), "generic": (2, 0.0)}
    plain = find_in_outcomes(graph, ABOUT, lambda: OUTCOMES)
    assert "templates" not in {each.by for each in plain.groupings}
