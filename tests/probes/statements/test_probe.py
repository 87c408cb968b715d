"""Statements judged by a model with random weights, against one plain forward pass for each answer."""

from typing import Any

import numpy as np
import pytest

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.statements import INSTRUCTION, StatementOptions
from kgprobe.probes.statements.evidence import JudgedStatement, StatementEvidence
from kgprobe.probes.statements.items import StatementItems
from kgprobe.probes.statements.metrics import FALSE, TRUE, UNKNOWN
from kgprobe.probes.statements.probe import StatementProbe
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import naive_score, tiny_scorer
from tests.written_source import WrittenSource

AS_OF = 20200101
CITIES = ["Łódź", "New York", "Washington, D.C.", "東京", "Paris"]
ENTITIES = [
    *(Entity(f"c{n}", f"Country {n}", types=("country",)) for n in range(5)),
    *(Entity(f"t{n}", name, types=("city",)) for n, name in enumerate(CITIES)),
    Entity("blank", " ", types=("city",)),
    Entity("long", "Long " * 600, types=("town",)),
    Entity("short", "Short", types=("town",)),
    Entity("only", "Only", types=("planet",)),
]
RELATIONS = [
    Relation(
        "capital", "capital", statements=("[Y] is the capital of [X].",), past_clozes=("The capital of [X] was [Y]",)
    ),
    # Told by its cloze sentence.
    Relation("largest", "largest city", clozes=("The largest city of [X] is [Y]",)),
    # Says what another relation says.
    Relation("seat", "seat", statements=("[Y] is the capital of [X].",)),
    Relation("mined", "mined", statements=("[Y] may be the mine of [X] today.",)),
    Relation("P0"),
]
FACTS = [
    *(Fact(f"f{n}", f"c{n}", "capital", f"t{n}") for n in range(4)),
    *(Fact(f"l{n}", f"c{n}", "largest", f"t{(n + 1) % 5}") for n in range(4)),
    Fact("seat", "c4", "seat", "t4"),
    Fact("ended", "c0", "capital", "t4", end="1999"),
    Fact("no past", "c0", "mined", "t4", end="1999"),
    Fact("nameless", "c4", "capital", "blank"),
    Fact("future", "c4", "capital", "t1", start="2030"),
    Fact("alone", "c4", "largest", "only"),
    Fact("long", "c1", "largest", "long"),
    Fact("short", "c2", "largest", "short"),
    Fact("P0", "c1", "P0", "t2"),
]
KEYS = {fact.id: FactKey(fact.subject, fact.id) for fact in FACTS}


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return tiny_scorer(n_positions=1024)


@pytest.fixture
def filled(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    return graph


def probe_of(graph: Graph, scorer: Scorer, relations: tuple[str, ...] = (), **options: Any) -> StatementProbe:
    chosen = StatementOptions(**options)
    items = StatementItems(
        graph,
        AS_OF,
        negatives=chosen.negatives,
        replace=chosen.replace,
        any_type=chosen.any_type,
        relations=relations,
    )
    return StatementProbe(items, scorer, chosen)


def asked(graph: Graph, scorer: Scorer, *, seed: int = 1, **options: Any) -> dict[str, Outcome]:
    outcomes = probe_of(graph, scorer, **options).ask(list(KEYS.values()), [seed])
    return {outcome.fact.fact: outcome for outcome in outcomes}


def test_answers_have_the_probabilities_of_plain_passes(filled: Graph, scorer: Scorer) -> None:
    allowed = score_tolerance(scorer.model)
    own = {"instruction": "  Judge: yes, no, or perhaps?", "answers": "yes, it is/no/perhaps so"}
    for options, instruction, answers in (
        ({}, INSTRUCTION, ("True", "False", "Unknown")),
        (own, "Judge: yes, no, or perhaps?", ("yes, it is", "no", "perhaps so")),
    ):
        outcomes = asked(filled, scorer, replace="any", negatives=2, **options)
        verdicts = {outcome.verdict for outcome in outcomes.values()}
        assert verdicts & {Verdict.RIGHT, Verdict.WRONG, Verdict.REFUSED}
        for fact in ("f0", "f1", "l2", "ended"):
            evidence = outcomes[fact].evidence
            assert isinstance(evidence, StatementEvidence)
            assert evidence.answers == answers
            assert len(evidence.negatives) == 2
            for statement in (evidence.fact, *evidence.negatives):
                prompt = f"{instruction}\n\nStatement: {statement.text}\nAnswer:"
                expected = [naive_score(scorer.model, scorer.tokenizer, [0], prompt, answer) for answer in answers]
                assert statement.log_probabilities == pytest.approx(expected, abs=allowed)
                assert statement.judgement == int(np.argmax(expected))
            assert outcomes[fact].prompt == f"{instruction}\n\nStatement: {evidence.fact.text}\nAnswer:"
            judged = (Verdict.RIGHT, Verdict.WRONG, Verdict.REFUSED)[evidence.fact.judgement]
            missed = [negative for negative in evidence.negatives if negative.judgement != FALSE]
            assert outcomes[fact].verdict is (Verdict.WRONG if judged is Verdict.RIGHT and missed else judged)
            assert evidence.chance == pytest.approx(1 / 27)
            weights = np.exp(evidence.fact.log_probabilities)
            assert evidence.probability == pytest.approx(weights[0] / weights.sum())


def test_all_statements_of_a_batch_are_scored_at_once(
    filled: Graph, scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[list[str], list[str]]] = []
    score = scorer.score

    def counted(prompts: Any, continuations: Any, **how: Any) -> Any:
        calls.append((list(prompts), list(how["beginnings"])))
        return score(prompts, continuations, **how)

    monkeypatch.setattr(scorer, "score", counted)
    outcomes = asked(filled, scorer, negatives=2, replace="subject")
    ((prompts, beginnings),) = calls
    assert len(prompts) == sum(1 + len(o.evidence.negatives) for o in outcomes.values() if o.evidence) + 3  # type: ignore[attr-defined]
    assert set(beginnings) == {f"{INSTRUCTION}\n\nStatement:"}
    assert all(prompt.startswith(its) for prompt, its in zip(prompts, beginnings, strict=True))


def test_facts_are_said_in_the_words_of_their_relation(filled: Graph, scorer: Scorer) -> None:
    outcomes = asked(filled, scorer)

    def said(fact: str) -> tuple[str, str]:
        evidence = outcomes[fact].evidence
        assert isinstance(evidence, StatementEvidence)
        (negative,) = evidence.negatives
        city = ENTITIES[5 + int(negative.object[1])].label
        assert (negative.subject, negative.relation) == (KEYS[fact].subject, outcomes[fact].relation)
        # The full stop of Washington, D.C. is that of the sentence, too.
        return evidence.question, negative.text.replace(city, "…").removesuffix(".")

    assert said("f0") == ("Łódź is the capital of Country 0.", "… is the capital of Country 0")
    assert said("l1") == ("The largest city of Country 1 is Washington, D.C.", "The largest city of Country 1 is …")
    # It was the capital at a time, and so was what is one now: none of these is a negative.
    assert said("ended") == ("The capital of Country 0 was Paris.", "The capital of Country 0 was …")
    for seed in range(8):
        for fact in ("f0", "ended"):
            evidence = asked(filled, scorer, seed=seed)[fact].evidence
            assert isinstance(evidence, StatementEvidence)
            assert evidence.negatives[0].object in ("t1", "t2", "t3")


def test_relation_gives_way_to_one_that_says_something_else(filled: Graph, scorer: Scorer) -> None:
    texts = set()
    for seed in range(6):
        outcomes = asked(filled, scorer, seed=seed, replace="relation")
        for fact in ("f0", "l0"):
            evidence = outcomes[fact].evidence
            assert isinstance(evidence, StatementEvidence)
            texts |= {(fact, negative.relation, negative.text) for negative in evidence.negatives}
        # In the past, which the mine has no words for, and in which the seat says what the capital does.
        evidence = outcomes["ended"].evidence
        assert isinstance(evidence, StatementEvidence)
        assert [negative.text for negative in evidence.negatives] == ["The largest city of Country 0 was Paris."]
    assert texts == {
        ("f0", "largest", "The largest city of Country 0 is Łódź."),
        ("f0", "mined", "Łódź may be the mine of Country 0 today."),
        ("l0", "capital", "New York is the capital of Country 0."),
        ("l0", "seat", "New York is the capital of Country 0."),
        ("l0", "mined", "New York may be the mine of Country 0 today."),
    }


def test_what_cannot_be_asked_says_why(filled: Graph, scorer: Scorer) -> None:
    outcomes = asked(filled, scorer, negatives=9)
    reasons = {
        "no past": "it has ended, and the relation mined has no statement in the past tense",
        "nameless": "its object's label is white space",
        "future": "it begins in 2030, after 20200101",
        "alone": "the graph has nothing that makes it false in place of its object",
        "P0": "its relation is not asked",
        "long": "tokens",
        "short": "the model cannot score any of its negatives: ",
    }
    for fact, reason in reasons.items():
        assert outcomes[fact].verdict is Verdict.UNASKABLE, fact
        assert reason in str(outcomes[fact].reason)
    evidence = outcomes["f0"].evidence
    assert isinstance(evidence, StatementEvidence)
    assert (len(evidence.negatives), evidence.wanted) == (3, 9)
    probe = probe_of(filled, scorer, relations=("largest",))
    assert list(probe.relations) == ["largest"]
    with pytest.raises(UnknownNameError, match="P0"):
        probe_of(filled, scorer, relations=("P0",))


@pytest.mark.parametrize("answers", ["True/False", "a/b/c/d", "a//c", "a/a/b", ""])
def test_there_are_three_answers(filled: Graph, scorer: Scorer, answers: str) -> None:
    with pytest.raises(ArgumentError, match="three different words") as raised:
        probe_of(filled, scorer, answers=answers)
    assert raised.value.argument == "answers"
    with pytest.raises(ArgumentError, match="`instruction` is empty"):
        probe_of(filled, scorer, instruction=" ")


def test_nothing_is_known_where_two_answers_are_most_probable() -> None:
    def judgement(*values: float) -> int:
        return JudgedStatement("…", np.array(values)).judgement

    assert (judgement(-1, -2, -3), judgement(-2, -1, -3), judgement(-3, -2, -1)) == (TRUE, FALSE, UNKNOWN)
    assert {judgement(-1, -1, -2), judgement(-1, -2, -1), judgement(-2, -1, -1), judgement(-1, -1, -1)} == {UNKNOWN}
