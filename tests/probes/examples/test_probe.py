"""In-context estimation against its definition: one plain forward pass for each choice."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.examples import PROBE
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.probe import ExampleProbe
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.demonstrations import draw_demonstrations
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, naive_score, random_model
from tests.written_source import WrittenSource

AS_OF = 20250101
# Packed, packed with a window, and in branches; tests of models have the others.
ARCHITECTURES = ("llama", "gemma3, narrow window", "bloom")
SEED = 3

CITIES = ["Łódź", "São Paulo", "Tokyo", "New York", "New York City", "Zürich", "Kyoto", "Paris", "York", "東京"]
COUNTRIES = [f"{word} {part}" for word in ("New", "Old", "Great") for part in ("Japan", "Poland", "Brazil", "Zealand")]
ENTITIES = [
    *(Entity(f"c{n}", name) for n, name in enumerate(COUNTRIES)),
    *(Entity(f"t{n}", name) for n, name in enumerate(CITIES)),
]
FACTS = [Fact(f"f{n}", f"c{n}", "capital", f"t{n % len(CITIES)}") for n in range(len(COUNTRIES))]
KEYS = [FactKey(fact.subject, fact.id) for fact in FACTS]
CAPITAL = Relation("capital", "capital", clozes=("The capital of [X] is [Y]",))
LABELS = {entity.id: entity.label for entity in ENTITIES}


@cache
def tokenizer_of() -> Any:
    return byte_level(bos=True)


@cache
def model_of(architecture: str, positions: int = 512) -> Any:
    named = {"gpt2": "n_positions", "bloom": None, "mamba": None}.get(architecture, "max_position_embeddings")
    return random_model(architecture, len(tokenizer_of()), **({named: positions} if named else {}))


def scorer_of(architecture: str = "llama", positions: int = 512) -> Scorer:
    return Scorer(model_of(architecture, positions), tokenizer_of(), name=architecture)


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, [CAPITAL]))
    return graph


def probe_of(graph: Graph, scorer: Scorer, *, relations: Sequence[str] = (), **options: Any) -> ExampleProbe:
    return ExampleProbe(graph, scorer, PROBE.options_from(options), as_of=AS_OF, relations=relations)


def evidence_of(outcome: Outcome) -> ExampleEvidence:
    assert isinstance(outcome.evidence, ExampleEvidence), outcome.reason
    return outcome.evidence


def choices(evidence: ExampleEvidence) -> list[str]:
    return [evidence.object.label, *(one.label for one in evidence.others)]


def demonstrations(graph: Graph, fact: Fact, count: int) -> list[tuple[str, str]]:
    """Return the examples that a fact has before it: the drawn ones, without those of its own subject."""
    drawn = draw_demonstrations(graph, ["capital"], 99, SEED, AS_OF)["capital"]
    return [(one.subject_label, one.object_label) for one in drawn if one.subject != fact.subject][:count]


def test_probabilities_are_those_of_a_full_pass_for_each_choice(loaded: Graph) -> None:
    for architecture in ARCHITECTURES:
        assert_as_full_passes(loaded, architecture, " ", " ")
    for separator, between in ((": ", "\\n"), (" is ruled from ", ". ")):
        assert_as_full_passes(loaded, "llama", separator, between)


def assert_as_full_passes(loaded: Graph, architecture: str, separator: str, between: str) -> None:
    scorer = scorer_of(architecture)
    probe = probe_of(loaded, scorer, examples=6, choices=5, separator=separator, between=between)
    between = between.replace("\\n", "\n")
    allowed = score_tolerance(scorer.model)
    for fact, outcome in zip(FACTS[:4], probe.ask(KEYS[:4], [SEED]), strict=True):
        evidence = evidence_of(outcome)
        its = demonstrations(loaded, fact, 6)
        text = between.join([*(f"{x}{separator}{y}" for x, y in its), LABELS[fact.subject]])
        assert outcome.prompt == text
        assert text.endswith(evidence.asked)
        assert (evidence.examples, evidence.object.label, len(evidence.others)) == (6, LABELS[fact.object], 4)
        wanted = [
            naive_score(scorer.model, scorer.tokenizer, [0], text, label, joined=f"{text}{separator}{label}")
            for label in choices(evidence)
        ]
        np.testing.assert_allclose(evidence.log_probabilities, wanted, rtol=0, atol=allowed)
        assert (outcome.verdict is Verdict.RIGHT) == (wanted[0] > max(wanted[1:]))
        assert evidence.probability == pytest.approx(np.exp(wanted[0]) / np.exp(wanted).sum(), abs=1e-4)
        assert evidence.chance == 1 / 5


def test_packed_sequences_are_those_of_the_paper(loaded: Graph) -> None:
    for architecture in ARCHITECTURES:
        assert_as_the_paper_packs(loaded, architecture)


def assert_as_the_paper_packs(loaded: Graph, architecture: str) -> None:
    scorer = scorer_of(architecture)
    allowed = score_tolerance(scorer.model)
    # Two facts, of which a sequence needs 3 examples before the first, and 5 between them.
    asked = FACTS[:2]
    probe = probe_of(loaded, scorer, examples=3, choices=4, packed=True)
    outcomes = probe.ask(KEYS[:2], [SEED])
    drawn = draw_demonstrations(loaded, ["capital"], 99, SEED, AS_OF)["capital"]
    subjects = {fact.subject for fact in asked}
    its = [f"{one.subject_label} {one.object_label}" for one in drawn if one.subject not in subjects][:8]
    first, second = map(evidence_of, outcomes)
    assert (first.examples, second.examples) == (3, 8)
    # The first fact's choice stands before the second's: whichever it is, each of the four has one sequence.
    before = " ".join([*its[:3], LABELS[asked[0].subject]])
    wanted = [naive_score(scorer.model, scorer.tokenizer, [0], before, label) for label in choices(first)]
    np.testing.assert_allclose(first.log_probabilities, wanted, rtol=0, atol=allowed)
    middles = [" ".join([before, label, *its[3:], LABELS[asked[1].subject]]) for label in choices(first)]
    possible = np.array(
        [
            [naive_score(scorer.model, scorer.tokenizer, [0], text, label) for label in choices(second)]
            for text in middles
        ]
    )
    places = np.abs(possible - second.log_probabilities).argmin(axis=0)
    np.testing.assert_allclose(second.log_probabilities, possible[places, range(4)], rtol=0, atol=allowed)
    # Whoever sees a few tokens back alone has seen nothing of the other fact's choice.
    if "window" not in architecture:
        assert sorted(places.tolist()) == [0, 1, 2, 3]
        # The prompt that is kept is that of the right choice.
        assert outcomes[1].prompt == middles[places[0]]


def test_separate_tokens_are_those_of_the_parts(loaded: Graph) -> None:
    scorer = scorer_of()
    probe = probe_of(loaded, scorer, examples=3, choices=4, packed=True, separate_tokens=True)
    assert (probe.describe()["separate_tokens"], probe.describe()["between"]) == (True, ",")
    first, second = map(evidence_of, probe.ask(KEYS[:2], [SEED]))
    drawn = draw_demonstrations(loaded, ["capital"], 99, SEED, AS_OF)["capital"]
    shown = [(one.subject_label, one.object_label) for one in drawn if one.subject not in ("c0", "c1")][:8]

    def ids(*texts: str) -> list[int]:
        return [token for text in texts for token in scorer.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def score(before: list[int], choice: str) -> float:
        tokens = torch.tensor([[0, *before, *ids(choice)]])
        with torch.inference_mode():
            logs = scorer.model(tokens).logits[0, :-1].double().log_softmax(-1)
        return sum(float(logs[place - 1, tokens[0, place]]) for place in range(1 + len(before), tokens.shape[1]))

    before = [token for subject, object_ in shown[:3] for token in ids(subject, " ", object_, ",")]
    before += ids(LABELS["c0"], " ")
    allowed = score_tolerance(scorer.model)
    wanted = [score(before, label) for label in choices(first)]
    np.testing.assert_allclose(first.log_probabilities, wanted, rtol=0, atol=allowed)
    # The choice before the second fact is one of four, another in each sequence.
    gap = [token for subject, object_ in shown[3:] for token in ids(",", subject, " ", object_)]
    middles = [[*before, *ids(label), *gap, *ids(",", LABELS["c1"], " ")] for label in choices(first)]
    possible = np.array([[score(middle, label) for label in choices(second)] for middle in middles])
    places = np.abs(possible - second.log_probabilities).argmin(axis=0)
    np.testing.assert_allclose(second.log_probabilities, possible[places, range(4)], rtol=0, atol=allowed)
    short = probe_of(loaded, scorer_of(positions=128), examples=9, choices=3, packed=True, separate_tokens=True)
    assert all(0 < evidence_of(one).examples <= 9 for one in short.ask(KEYS[:3], [SEED]))
    with pytest.raises(ArgumentError, match="`separate_tokens` requires `packed`"):
        probe_of(loaded, scorer, separate_tokens=True)


def test_packed_facts_share_sequences_ten_at_most(loaded: Graph) -> None:
    more = [Entity(f"x{n}", f"Land {n}") for n in range(90)]
    facts = [Fact(f"x{n}", f"x{n}", "capital", f"t{n % len(CITIES)}") for n in range(90)]
    load(loaded, WrittenSource(more, facts, fingerprint="more"))
    scorer = scorer_of(positions=1024)
    probe = probe_of(loaded, scorer, examples=4, choices=3, packed=True, separator=": ", between="\\n")
    outcomes = probe.ask(KEYS, [SEED])
    assert [evidence_of(one).examples for one in outcomes] == [*(4 + 5 * n for n in range(10)), 4, 9]
    # Line by line: examples, and from the fourth on before every fifth a fact that was asked, with one of its choices.
    drawn = draw_demonstrations(loaded, ["capital"], 999, SEED, AS_OF)["capital"]
    together = {FACTS[KEYS.index(one.fact)].subject for one in outcomes[:10]}
    shown = [f"{one.subject_label}: {one.object_label}" for one in drawn if one.subject not in together]
    asked = [LABELS[FACTS[KEYS.index(one.fact)].subject] for one in outcomes[:10]]
    for number, outcome in enumerate(outcomes[:10]):
        assert outcome.prompt is not None
        *lines, last = outcome.prompt.split("\n")
        assert last == asked[number]
        places = range(4, len(lines), 6)
        for before, place in enumerate(places):
            assert lines[place] in [f"{asked[before]}: {label}" for label in choices(evidence_of(outcomes[before]))]
        assert len(places) == number
        assert [line for place, line in enumerate(lines) if place not in places] == shown[: 4 + 5 * number]
    # What does not fit into the context with ten is asked with fewer.
    short = probe_of(loaded, scorer_of(positions=256), examples=4, choices=3, packed=True)
    sizes = [evidence_of(one).examples for one in short.ask(KEYS, [SEED])]
    assert set(sizes) < {4 + 5 * n for n in range(9)}
    assert sizes.count(4) > 2


def test_examples_short_context_keeps_first_and_reports(loaded: Graph) -> None:
    long = probe_of(loaded, scorer_of(), examples=8, choices=3).ask(KEYS, [SEED])
    scorer = scorer_of(positions=64)
    probe = probe_of(loaded, scorer, examples=8, choices=3)
    short = probe.ask(KEYS, [SEED])
    for fact, one, other in zip(FACTS, short, long, strict=True):
        evidence = evidence_of(one)
        assert 0 < evidence.examples < evidence_of(other).examples == 8
        its = demonstrations(loaded, fact, evidence.examples + 1)
        assert one.prompt == " ".join([*(f"{x} {y}" for x, y in its[:-1]), LABELS[fact.subject]])
        longest = max(len(tokenizer_of()(f"{one.prompt} {label}").input_ids) for label in choices(evidence))
        # With one more it would not fit; some tokens are left at the seams.
        assert longest <= 64 + 1
        assert longest + len(tokenizer_of()(" ".join(its[-1])).input_ids) > 64 - 4
    (accuracy, _) = PROBE.results(short, probe.describe()).tables
    assert any("12 of 12 facts have fewer than 8 examples" in note for note in accuracy.notes)
    nothing = probe_of(loaded, scorer_of(positions=8), examples=8, choices=3).ask(KEYS[:1], [SEED])
    assert nothing[0].verdict is Verdict.UNASKABLE
    assert "no example" in str(nothing[0].reason)
    packed = probe_of(loaded, scorer_of(positions=8), examples=8, choices=3, packed=True).ask(KEYS[:1], [SEED])
    assert packed[0].reason == nothing[0].reason


def test_relation_with_few_facts_is_asked_with_all(graph: Graph) -> None:
    entities = [Entity(name, name.upper()) for name in "abcdefgh"]
    entities += [Entity("twin", "G"), Entity("namesake", "H", aliases=("F",))]
    facts = [
        Fact("1", "a", "one", "e"),
        Fact("2", "a", "two", "e"),
        Fact("3", "b", "two", "f"),
        # Two others of one label, and one that shares a name with an object.
        *(Fact(f"4{n}", subject, "three", object_) for n, (subject, object_) in enumerate(["af", "bg", "ch"])),
        Fact("43", "d", "three", "twin"),
        Fact("44", "e", "three", "namesake"),
        Fact("5", "a", "same", "e"),
        Fact("6", "b", "same", "e"),
        Fact("past", "c", "two", "g", end="1999"),
        Fact("future", "d", "two", "g", start="2031"),
    ]
    relations = [Relation(name) for name in ("one", "two", "three", "same")]
    load(graph, WrittenSource(entities, facts, [*relations, Relation("off", active=False)]))
    probe = probe_of(graph, scorer_of(), examples=5, choices=9)
    keys = {fact.id: FactKey(fact.subject, fact.id) for fact in facts}
    found = dict(zip(keys, probe.ask(list(keys.values()), [SEED]), strict=True))
    assert "no other object" in str(found["1"].reason)
    assert "no other object" in str(found["5"].reason)
    assert "has ended" in str(found["past"].reason)
    assert "begins in 2031" in str(found["future"].reason)
    two = evidence_of(found["2"])
    assert (two.examples, sorted(choices(two)), two.chance) == (1, ["E", "F", "G"], 1 / 3)
    three = evidence_of(found["40"])
    assert (three.examples, sorted(choices(three))) == (4, ["F", "G", "H"])
    (accuracy, _) = PROBE.results(found.values(), probe.describe()).tables
    assert any("fewer than 9 choices" in note for note in accuracy.notes)
    with pytest.raises(UnknownNameError, match="not active: off"):
        probe_of(graph, scorer_of(), relations=["off", "two"])


def test_sentence_alone_is_asked_with_the_same_choices(loaded: Graph) -> None:
    scorer = scorer_of()
    after_examples = probe_of(loaded, scorer, examples=6, choices=5).ask(KEYS, [SEED])
    probe = probe_of(loaded, scorer, choices=5, prompt="sentences")
    allowed = score_tolerance(scorer.model)
    for fact, outcome, other in zip(FACTS, probe.ask(KEYS, [SEED]), after_examples, strict=True):
        evidence = evidence_of(outcome)
        assert outcome.prompt == f"The capital of {LABELS[fact.subject]} is"
        assert (evidence.examples, choices(evidence)) == (0, choices(evidence_of(other)))
        wanted = [
            naive_score(scorer.model, scorer.tokenizer, [0], outcome.prompt, label) for label in choices(evidence)
        ]
        np.testing.assert_allclose(evidence.log_probabilities, wanted, rtol=0, atol=allowed)


def test_examples_of_a_relation_are_computed_once(loaded: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = scorer_of()
    probe = probe_of(loaded, scorer, examples=8, choices=3)
    computed: list[int] = []
    forward = scorer.model.base_model.forward

    def counting(input_ids: Any, **arguments: Any) -> Any:
        computed.append(input_ids.numel())
        return forward(input_ids=input_ids, **arguments)

    monkeypatch.setattr(scorer.model.base_model, "forward", counting)
    # None of these is an example itself.
    drawn = {one.subject for one in draw_demonstrations(loaded, ["capital"], 8, SEED, AS_OF)["capital"]}
    others = [key for key in KEYS if key.subject not in drawn]
    tokens = []
    for key in others:
        computed.clear()
        probe.ask([key], [SEED])
        tokens.append(sum(computed))
    before = len(tokenizer_of()(" ".join(sum(demonstrations(loaded, FACTS[0], 8), ()))).input_ids)
    assert tokens[0] > before
    assert max(tokens[1:]) < before / 2


def test_tie_is_no_knowledge() -> None:
    from kgprobe.probes.distractors.evidence import NamedEntity

    evidence = ExampleEvidence("x", NamedEntity("a", "A"), "x", 1, (NamedEntity("b", "B"),), np.array([-1.0, -1.0]))
    assert not evidence.is_right
    assert evidence.prediction == "B"
    assert evidence.probability == pytest.approx(0.5)


@pytest.mark.parametrize(("name", "value"), [("examples", 0), ("choices", 1), ("prompt", "questions")])
def test_what_cannot_be_is_told(name: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=name):
        PROBE.options_from({name: value})
