"""Labels: what becomes of several answers to each statement, and how a real model is asked for them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kgprobe.answers.store import FILE, OutcomeStore, read_outcomes
from kgprobe.base.errors import ArgumentError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.statements.items import StatementItems
from kgprobe.probes.statements.metrics import FALSE, NONE, TRUE, UNKNOWN
from kgprobe.probes.true_false import INSTRUCTION, TrueFalseOptions
from kgprobe.probes.true_false.evidence import TrueFalseEvidence
from kgprobe.probes.true_false.probe import TrueFalseProbe
from kgprobe.results.about import About
from kgprobe.results.comparison import compare_models
from kgprobe.results.finding_page import finding_lead
from kgprobe.results.shared_facts import find_shared_facts
from kgprobe.sampling.keys import FactKey
from tests.models.tiny import tiny_scorer
from tests.results.answered import answers_of_outcomes
from tests.results.found import find_in_outcomes
from tests.written_source import WrittenSource

AS_OF = 20200101
ENTITIES = [
    *(Entity(f"c{n}", f"Country {n}", types=("country",)) for n in range(5)),
    *(Entity(f"t{n}", f"Town {n}", types=("city",)) for n in range(5)),
]
RELATIONS = [Relation("capital", "capital", statements=("[Y] is the capital of [X].",)), Relation("P0")]
FACTS = [*(Fact(f"f{n}", f"c{n}", "capital", f"t{n}") for n in range(5)), Fact("P0", "c0", "P0", "t1")]
KEYS = [FactKey(fact.subject, fact.id) for fact in FACTS]


class Rule:
    """A generator that answers by a function of the statement and of which of its times it is."""

    def __init__(self, answer: Callable[[str, int], str | Unanswered], name: str = "rule") -> None:
        self.name = name
        self._answer = answer
        self.requests: list[Request] = []

    def describe(self) -> dict[str, object]:
        return {"model": self.name}

    def answer(self, requests: Any, progress: Any = None) -> list[Answer | Unanswered]:
        said: list[Answer | Unanswered] = []
        seeds: dict[str, list[int]] = {}
        for request in requests:
            statement = request.prompt.rsplit("Statement: ", 1)[-1].removesuffix("\nAnswer:")
            seeds.setdefault(statement, []).append(request.seed)
            text = self._answer(statement, len(seeds[statement]) - 1)
            said.append(Answer(text) if isinstance(text, str) else text)
        self.requests += requests
        if progress is not None:
            progress(len(requests))
        return said


@pytest.fixture
def filled(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    return graph


def asked(graph: Graph, generator: Generator, **options: Any) -> dict[str, Outcome]:
    chosen = TrueFalseOptions(**options)
    items = StatementItems(
        graph, AS_OF, negatives=chosen.negatives, replace=chosen.replace, any_type=chosen.any_type, relations=()
    )
    outcomes = TrueFalseProbe(items, generator, chosen).ask(KEYS, [3])
    assert [outcome.fact for outcome in outcomes] == KEYS
    return {outcome.fact.fact: outcome for outcome in outcomes}


def evidence_of(outcome: Outcome) -> TrueFalseEvidence:
    assert isinstance(outcome.evidence, TrueFalseEvidence)
    return outcome.evidence


def test_majority_is_the_label(filled: Graph) -> None:
    said = {
        "Town 0 is the capital of Country 0.": ["True.", "False", "Yes, the statement is true."],
        "Town 1 is the capital of Country 1.": ["False", "I don't know.", "No."],
        "Town 2 is the capital of Country 2.": ["I don't know.", "Unknown", "True"],
        "Town 3 is the capital of Country 3.": ["True", "False", "Unknown"],
        "Town 4 is the capital of Country 4.": ["Paris", "bananas", "True"],
    }
    generator = Rule(lambda statement, time: said.get(statement, ["False"] * 3)[time])
    outcomes = asked(filled, generator)
    labels = [TRUE, FALSE, UNKNOWN, NONE, NONE]
    verdicts = [Verdict.RIGHT, Verdict.WRONG, Verdict.REFUSED, Verdict.OFF_FORMAT, Verdict.OFF_FORMAT]
    for number, (label, verdict) in enumerate(zip(labels, verdicts, strict=True)):
        outcome = outcomes[f"f{number}"]
        evidence = evidence_of(outcome)
        text = f"Town {number} is the capital of Country {number}."
        assert (evidence.fact.text, evidence.fact.judgement, outcome.verdict) == (text, label, verdict)
        assert evidence.fact.answers == tuple(said[text])
        assert evidence.object == f"t{number}"
        assert evidence.right_answer == "true"
        (negative,) = evidence.negatives
        assert (negative.judgement, negative.replaced) == (FALSE, "object")
        assert (negative.subject, negative.relation) == (f"c{number}", "capital")
        fact, of_negative = evidence.rated
        assert (of_negative.confidence, of_negative.right) == (1.0, True)
        agreement = [(2 / 3, True), (2 / 3, False), None, (1 / 3, True), None][number]
        assert ((fact.confidence, fact.right) if agreement else fact.confidence) == agreement
        assert outcome.prompt == INSTRUCTION.replace("{statement}", text)
    assert [evidence_of(outcomes[f"f{n}"]).prediction for n in range(4)] == [
        None,
        "false",
        "unknown",
        "True / False / Unknown",
    ]
    assert outcomes["P0"].verdict is Verdict.UNASKABLE
    # Of each statement three answers are drawn, each by numbers of its own; they stay below what APIs take.
    seeds = {request.seed for request in generator.requests}
    assert len(seeds) == 3
    assert max(seeds) < 2**31
    assert len(generator.requests) == 2 * 5 * 3


def test_where_one_answer_is_missing_all_are_asked_again(filled: Graph) -> None:
    outcomes = asked(filled, Rule(lambda text, _: Unanswered("no room") if "Country 2" in text else "True"))
    assert outcomes["f2"].verdict is Verdict.UNANSWERED
    assert outcomes["f2"].reason == "no room"
    assert outcomes["f1"].verdict is Verdict.WRONG


def test_headline_yes_sayer_is_correct_on_no_fact(filled: Graph) -> None:
    outcomes = list(asked(filled, Rule(lambda *_: "True")).values())
    assert {outcome.verdict for outcome in outcomes} == {Verdict.WRONG, Verdict.UNASKABLE}
    assert evidence_of(outcomes[0]).prediction == f"true: {evidence_of(outcomes[0]).negatives[0].text}"
    about = About("name", "m", "true-false", AS_OF, 0, {}, {})
    finding = find_in_outcomes(filled, about, lambda: outcomes)
    headline, details = "m is correct on 0% [0, 43] of the 5 facts asked", "truthful 0% [0, 43]"
    lines = finding.summary().splitlines()
    assert lines[-3] == finding.headline == headline
    assert lines[-2].startswith(f"  {details}, informative 100% [57, 100], bias +50 points")
    assert lines[-1].startswith("  net score -100.0 [-100.0, -13.1] points (right less wrong); 0% [0, 43] refused")
    assert finding_lead(finding)[:2] == [f"{headline}.", lines[-2].strip().capitalize() + "."]
    assert finding.to_dict()["headline_measure"]["value"] == 0
    honest = asked(filled, Rule(lambda text, _: str(text[5] == text[-2])))
    sides = [
        (replace(about, name=name, model=name), answers_of_outcomes("true-false", its))
        for name, its in (("yes-sayer", outcomes), ("honest", list(honest.values())))
    ]
    told = compare_models(find_shared_facts(sides), {}).summary()
    assert told.startswith("Correct: honest 100% [57, 100], yes-sayer 0% [0, 43]. ")


def test_headline_facts_without_labels_are_left_out(filled: Graph) -> None:
    outcomes = asked(filled, Rule(lambda text, _: "maybe so" if "Country 4" in text else str(text[5] == text[-2])))
    assert outcomes["f4"].verdict is Verdict.OFF_FORMAT
    assert (
        str(TrueFalseEvidence.results(outcomes.values(), {}).headline)
        == "correct on 100% [51, 100] of the 4 facts with labels, of 5 asked"
    )


def test_real_model_is_asked_and_its_answers_are_kept(filled: Graph, tmp_path: Any) -> None:
    scorer = tiny_scorer(n_positions=1024)
    generator = LocalGenerator(scorer)
    first, again = (asked(filled, generator, repeats=2, answer_tokens=4, negatives=2, replace="any") for _ in range(2))
    for fact in ("f0", "f3"):
        assert evidence_of(first[fact]) == evidence_of(again[fact])
        evidence = evidence_of(first[fact])
        assert len(evidence.negatives) == evidence.wanted == 2
        # Drawn twice from a model that is sure of nothing.
        assert any(len(set(one.answers)) == 2 for one in (evidence.fact, *evidence.negatives))
    with OutcomeStore(tmp_path) as store:
        store.append(range(len(first)), list(first.values()))
    kept = list(read_outcomes(tmp_path / FILE, TrueFalseEvidence))
    assert [outcome.evidence for outcome in kept] == [outcome.evidence for outcome in first.values()]


def test_tables_tell_of_what_has_a_label(filled: Graph) -> None:
    def answer(statement: str, time: int) -> str:
        return "maybe so" if "Country 4" in statement else ("True" if "Country 1" not in statement or time else "False")

    tables = {table.key: table for table in TrueFalseEvidence.results(asked(filled, Rule(answer)).values(), {}).tables}
    (relation,) = tables["relations"].rows
    assert relation["facts"] == 4
    # All negatives are called true, too.
    assert relation["correct"].value == 0
    facts, negatives = tables["agreement"].rows
    assert (facts["number"], negatives["number"]) == (5, 5)
    assert facts["labelled"].value == 4 / 5
    assert facts["all answers agree"].value == 3 / 5
    assert facts["answers read"].value == 4 / 5
    assert TrueFalseEvidence.results([], {}) == ((), None)


@pytest.mark.parametrize("instruction", ["no place", "{statement} and {statement}"])
def test_instruction_has_one_place(filled: Graph, instruction: str) -> None:
    with pytest.raises(ArgumentError, match="places for the statement"):
        asked(filled, Rule(lambda *_: "True"), instruction=instruction)


def test_stated_confidence_of_each_answer_is_rated(filled: Graph) -> None:
    said = ["True. Confidence: 90%", "False. Confidence: 60%", "Unknown. Confidence: 5%"]
    plain = asked(filled, Rule(lambda _, time: said[time].split(".")[0]))
    outcomes = asked(filled, Rule(lambda _, time: said[time]), ask_confidence=True)
    evidence = evidence_of(outcomes["f0"])
    assert evidence.fact == evidence_of(plain["f0"]).fact or evidence.fact.answers == ("True.", "False.", "Unknown.")
    assert outcomes["f0"].verdict is plain["f0"].verdict
    stated = [(each.confidence, each.right) for each in evidence.rated if each.source == "stated"]
    assert stated == [(0.9, True), (0.6, False), (None, False), (0.9, False), (0.6, True), (None, False)]
    assert "Confidence: 95%" in outcomes["f0"].prompt
    with pytest.raises(ArgumentError, match="ask_confidence"):
        asked(filled, Rule(lambda *_: "True"), ask_confidence=True, instruction="Is it so? {statement}")
