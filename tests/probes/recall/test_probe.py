"""Recall against its definition: prompts, counts read naively, SliCK's classes, and their tables."""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.models.model import Model, Models
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.recall import PROBE
from kgprobe.probes.recall.classes import CLASSES, guessed_classes
from kgprobe.probes.recall.evidence import RecallEvidence
from kgprobe.probes.register import ProbeContext
from kgprobe.sampling.keys import FactKey
from tests.written_source import WrittenSource

AS_OF = 20200101
TOWNS = ("Berlin", "Lima", "Paris", "Quito", "Rome", "Tokyo", "Vaduz", "Vienna")
ENTITIES = [
    *(Entity(f"c{n}", f"Country {n}") for n in range(len(TOWNS))),
    *(Entity(name.lower(), name, (f"City of {name}",)) for name in TOWNS),
    Entity("rule", "Rome rule"),
]
CAPITAL = Relation(
    "capital", "capital", clozes=("[X] is ruled from [Y]",), wh_questions=("What is the capital of [X]?",)
)
RULER = Relation("ruler", "ruler", clozes=("[X] is ruled from [Y]", "[X] obeys [Y]"))
FACTS = [
    *(Fact(f"f{n}", f"c{n}", "capital", name.lower()) for n, name in enumerate(TOWNS)),
    Fact("second", "c0", "capital", "lima"),
    Fact("ended", "c1", "capital", "rome", end="1900"),
    Fact("told", "rule", "capital", "rome"),
    *(Fact(f"r{n}", f"c{n}", "ruler", name.lower()) for n, name in enumerate(TOWNS)),
]
KEYS = {fact.id: FactKey(fact.subject, fact.id) for fact in FACTS}
RIGHT = dict(zip((f"Country {n}" for n in range(len(TOWNS))), TOWNS, strict=True))


class Scripted:
    """A generator that answers requests by a rule and keeps them."""

    name = "scripted"

    def __init__(self, rule: Callable[[Request, str], str | Answer | Unanswered]) -> None:
        self.requests: list[Request] = []
        self.calls = 0
        self._rule = rule

    def describe(self) -> dict[str, object]:
        return {}

    def check_thinking(self, _: object) -> dict[str, object]:
        return {}

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        if progress is not None:
            progress(len(requests))
        self.calls += 1
        self.requests += requests
        said = [self._rule(request, asked_about(request)) for request in requests]
        return [Answer(one) if isinstance(one, str) else one for one in said]


def asked_about(request: Request) -> str:
    """Return the country of the last question; empty for other questions."""
    return (re.findall(r"Country \d", request.prompt) or [""])[-1]


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, [CAPITAL, RULER]))
    return graph


def ask(graph: Graph, generator: Generator, facts: Sequence[str], seed: int = 3, **options: Any) -> list[Outcome]:
    setting = ProbeContext(graph, Model("scripted", generator=generator), Models(), AS_OF)
    probe = PROBE.make(setting, PROBE.options_from(options))
    return probe.ask([KEYS[fact] for fact in facts], [seed])


def evidence_of(outcome: Outcome) -> RecallEvidence:
    assert isinstance(outcome.evidence, RecallEvidence), outcome.reason
    return outcome.evidence


def noisy(request: Request, country: str) -> str:
    """Answer right or with another town, by a hash of all that may matter."""
    number = zlib.crc32(f"{request}".encode())
    return RIGHT[country] if number % 3 else TOWNS[number % len(TOWNS)]


def test_prompts_have_other_examples_of_the_relation(loaded: Graph) -> None:
    generator = Scripted(noisy)
    facts = ["f3", "f4"]
    outcomes = ask(loaded, generator, facts, prompts=5, examples=3, samples=2, temperature=0.7)
    assert generator.calls == 1
    assert [outcome.prompt for outcome in outcomes] == [generator.requests[0].prompt, generator.requests[15].prompt]
    orders = []
    for number, fact in enumerate(facts):
        own = generator.requests[15 * number : 15 * (number + 1)]
        for first in range(0, 15, 3):
            greedy, *samples = own[first : first + 3]
            assert (greedy.temperature, {sample.temperature for sample in samples}) == (0.0, {0.7})
            assert {request.prompt for request in samples} == {greedy.prompt}
            *examples, question = greedy.prompt.split("\n\n")
            assert question == f"Q: What is the capital of Country {fact[1:]}?\nA:"
            named = dict(re.findall(r"Q: What is the capital of (.+)\?\nA: (.+)", "\n\n".join(examples)))
            assert len(named) == len(examples) == 3
            assert f"Country {fact[1:]}" not in named
            for country, town in named.items():
                assert town in (RIGHT.get(country), "Lima", "Rome")
            orders.append([country for country in named if country not in ("Country 3", "Country 4")])
        assert len({request.seed for request in own if request.temperature}) == 10
    assert len(set(map(tuple, orders[:5]))) == 5
    # Facts of a relation have the same examples, apart from their own subjects.
    for one, other in zip(orders[:5], orders[5:], strict=True):
        fewest = min(len(one), len(other))
        assert one[:fewest] == other[:fewest]


def test_counts_equal_a_naive_recomputation(loaded: Graph) -> None:
    generator = Scripted(noisy)
    facts = [f"f{n}" for n in range(1, 8)]
    outcomes = ask(loaded, generator, facts, prompts=3, samples=4)
    classes = set()
    for outcome, first in zip(outcomes, range(0, len(generator.requests), 15), strict=True):
        right: Counter[bool] = Counter()
        for request in generator.requests[first : first + 15]:
            right[request.temperature > 0] += noisy(request, asked_about(request)) == RIGHT[asked_about(request)]
        evidence = evidence_of(outcome)
        assert (evidence.greedy_right, evidence.greedy) == (right[False], 3)
        assert (evidence.sampled_right, evidence.sampled) == (right[True], 12)
        assert (outcome.verdict is Verdict.RIGHT) == (right[False] >= 2)
        classes.add(evidence.slick)
    assert len(classes) > 1


@pytest.mark.parametrize(
    ("samples", "rated"),
    [
        # Names of one entity are one answer, others are apart.
        (["Rome", "the city of Rome", "in Rome.", "Lima", "Oslo", "Paris"], (0.5, False)),
        (["Paris", "Rome", "City of Paris", "It is Paris", "Lima", "Lima"], (0.5, True)),
        (["Atlantis", "atlantis!", "Lemuria", "Rome"], (0.5, False)),
        # The first of a tie; a refusal is no answer.
        (["Rome", "Paris", "Lima"], (1 / 3, False)),
        (["I don't know.", "Paris", "I don't know."], None),
        (["Paris", "Paris"], None),
    ],
)
def test_agreement_is_that_of_entities(loaded: Graph, samples: list[str], rated: tuple[float, bool] | None) -> None:
    left = iter(samples)
    generator = Scripted(lambda request, _: next(left) if request.temperature else "Lima")
    (outcome,) = ask(loaded, generator, ["f2"], prompts=1, samples=len(samples))
    (found,) = evidence_of(outcome).rated
    assert ((found.confidence, found.right) if rated else found.confidence) == rated
    assert (found.reason is None) == (rated is not None)


@pytest.mark.parametrize(
    ("said", "verdict", "prediction"),
    [
        (("Rome", "Rome", "Lima"), Verdict.RIGHT, None),
        (("the City of Rome.", "Lima", "Lima"), Verdict.WRONG, "Lima"),
        (("Rome", "Lima", "Rome", "Lima"), Verdict.WRONG, "Lima"),
        (("I do not know.", "I do not know.", "Lima"), Verdict.REFUSED, "I do not know."),
        (("", "", "Lima"), Verdict.OFF_FORMAT, ""),
        (("Lima\n\nQ: Which city is Rome?\nA: Rome",) * 2, Verdict.WRONG, "Lima"),
    ],
)
def test_verdict_is_that_of_most_greedy_answers(
    loaded: Graph, said: tuple[str, ...], verdict: Verdict, prediction: str | None
) -> None:
    answers = iter(said)
    (outcome,) = ask(loaded, Scripted(lambda *_: next(answers)), ["f4"], prompts=len(said), samples=0)
    evidence = evidence_of(outcome)
    assert (outcome.verdict, evidence.prediction) == (verdict, prediction)
    assert evidence.right_answer == "Rome"


@pytest.mark.parametrize(
    ("greedy", "sampled", "name"),
    [("Rome", "Lima", "highly known"), ("Lima", "Rome", "weakly known"), ("Lima", "Lima", "unknown")],
)
def test_class_is_a_value_of_each_fact(loaded: Graph, greedy: str, sampled: str, name: str) -> None:
    generator = Scripted(lambda request, _: sampled if request.temperature else greedy)
    (outcome,) = ask(loaded, generator, ["f4"], prompts=2, samples=3)
    evidence = evidence_of(outcome)
    assert evidence.slick == name
    values = dict(evidence.values)
    assert (values.pop("greedy_right"), values.pop("sampled_right")) == (greedy == "Rome", sampled == "Rome")
    assert values == {one.replace(" ", "_"): float(one == name) for one in CLASSES}
    (alone,) = ask(loaded, generator, ["f4"], prompts=2, samples=0)
    assert evidence_of(alone).slick == (name if greedy == "Rome" else None)


def test_credit_any_accepts_other_right_objects(loaded: Graph) -> None:
    rule: Callable[[Request, str], str] = lambda *_: "Lima"  # noqa: E731
    (own,) = ask(loaded, Scripted(rule), ["f0"], prompts=2, samples=0)
    (any_,) = ask(loaded, Scripted(rule), ["f0"], prompts=2, samples=0, credit="any")
    assert (own.verdict, any_.verdict) == (Verdict.WRONG, Verdict.RIGHT)
    assert evidence_of(own).right_answer == "Berlin (also right: Lima)"
    assert evidence_of(any_).chance == pytest.approx(2 / len(TOWNS))
    assert evidence_of(own).chance == pytest.approx(1 / len(TOWNS))


def test_relation_without_questions_is_asked_in_sentences(loaded: Graph) -> None:
    generator = Scripted(noisy)
    (outcome,) = ask(loaded, generator, ["r2"], prompts=1, examples=2, samples=0)
    *examples, sentence = outcome.prompt.split("\n")
    assert sentence == evidence_of(outcome).question == "Country 2 is ruled from"
    for example in examples:
        country, town = example.split(" is ruled from ")
        assert RIGHT[country] == town


def test_unaskable_facts_have_a_reason(loaded: Graph) -> None:
    generator = Scripted(noisy)
    ended, told = ask(loaded, generator, ["ended", "told"])
    assert (ended.verdict, told.verdict) == (Verdict.UNASKABLE, Verdict.UNASKABLE)
    assert "does not hold" in str(ended.reason)
    assert "contains a right answer" in str(told.reason)
    assert not generator.requests


@pytest.mark.parametrize("missing", [Unanswered("the server is down"), Answer("", ended=False)])
def test_missing_answer_leaves_the_fact_unanswered(loaded: Graph, missing: Answer | Unanswered) -> None:
    def rule(request: Request, country: str) -> str | Answer | Unanswered:
        return missing if request.temperature and country == "Country 3" else "Quito"

    one, other = ask(loaded, Scripted(rule), ["f3", "f4"], prompts=1, samples=1)
    assert (one.verdict, one.evidence) == (Verdict.UNANSWERED, None)
    assert one.reason
    assert other.verdict is Verdict.WRONG


def test_tables_have_shares_of_classes_and_of_a_guesser(loaded: Graph) -> None:
    def rule(request: Request, country: str) -> str:
        return RIGHT[country] if country in ("Country 1", "Country 2") or request.temperature else "nothing"

    outcomes = ask(loaded, Scripted(rule), ["f1", "f2", "f3", "r3"], prompts=2, samples=1, examples=20)
    classes, relations = RecallEvidence.results(outcomes, {"examples": 20}).tables
    assert {row["class"]: row["facts"] for row in classes.rows} == dict(zip(CLASSES, (2, 0, 2, 0), strict=True))
    assert [row["share"].value for row in classes.rows] == [0.5, 0, 0.5, 0]
    expected = guessed_classes(1 / len(TOWNS), 2, 2)
    assert [row["by guessing"].value for row in classes.rows] == pytest.approx([expected[name] for name in CLASSES])
    assert "4 of 4 facts have fewer than 20 examples" in " ".join(classes.notes)
    by_relation = {row["relation"]: row for row in relations.rows}
    assert by_relation["capital"]["highly known"].value == pytest.approx(2 / 3)
    assert by_relation["ruler"]["weakly known"].value == 1
    assert by_relation["all"]["greedy answers right"].value == 0.5


@pytest.mark.parametrize("guess", [0.0, 0.3, 1.0])
def test_guessed_classes_equal_an_enumeration(guess: float) -> None:
    expected = dict.fromkeys(CLASSES, 0.0)
    for answers in product((True, False), repeat=4):
        greedy, sampled = answers[:2], answers[2:]
        if all(greedy):
            name = "highly known"
        elif any(greedy):
            name = "maybe known"
        else:
            name = "weakly known" if any(sampled) else "unknown"
        hits = sum(answers)
        expected[name] += guess**hits * (1 - guess) ** (4 - hits)
    assert guessed_classes(guess, 2, 2) == pytest.approx(expected)
