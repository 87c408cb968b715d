"""Composition of two hops: made-up models whose composition is known, the definition, and paths that are left out."""

import random
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import kgprobe
from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.intervals import Points, Share
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Tree
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.two_hops.evidence import TwoHopEvidence
from kgprobe.results.measurement import Measurement
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import naive_score, tiny_scorer
from tests.written_source import WrittenSource

AS_OF = "2020-01-01"
COUNTRIES, PEOPLE = 24, 240
RELATIONS = [
    Relation("lives", "lives in", clozes=("[X] lives in [Y]", "The country where [X] lives is [Y]")),
    Relation("capital", "capital", clozes=("The capital of [X] is [Y]",)),
    Relation("likes", "likes", clozes=("[X] likes [Y]",)),
]


def world(seed: int = 0) -> WrittenSource:
    """People in countries, some of them in the same, and the countries' capitals."""
    chance = random.Random(seed)
    entities = [
        *(Entity(f"p{n}", f"Person {n}", types=("person",)) for n in range(PEOPLE)),
        *(Entity(f"c{n}", f"Land {n}", types=("country",)) for n in range(COUNTRIES)),
        *(Entity(f"t{n}", f"Town {n}", (f"Ville {n}",), types=("city",)) for n in range(COUNTRIES)),
    ]
    homes = [min(chance.randrange(COUNTRIES), chance.randrange(COUNTRIES)) for _ in range(PEOPLE)]
    facts = [
        *(Fact(f"h{n}", f"p{n}", "lives", f"c{home}") for n, home in enumerate(homes)),
        *(Fact(f"k{n}", f"c{n}", "capital", f"t{n}") for n in range(COUNTRIES)),
    ]
    return WrittenSource(entities, facts, RELATIONS)


class MadeUp(TextScorer):
    """A model that a function of prompt and name makes up."""

    name, max_tokens, leading, tokenizer = "made-up", None, (), None

    def __init__(self, log_probability: Callable[[str, str], float]) -> None:
        self._log_probability = log_probability

    def describe(self) -> dict[str, object]:
        return {}

    def explain(self) -> list[tuple[str, str]]:
        return []

    def refresh(self) -> bool:
        return False

    def end_token(self) -> int:
        return 0

    def score(self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], **_: Any) -> list[Any]:
        scored = []
        for prompt, names in zip(prompts, continuations, strict=True):
            scored.append(ScoredContinuations(np.array([self._log_probability(prompt, name) for name in names])))
        return scored

    def score_tokenized(self, tokenized: Sequence[TokenizedPrompt], *_: Any) -> list[ScoredContinuations]:
        raise NotImplementedError

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[Any]:
        raise NotImplementedError


def number(*parts: object) -> float:
    """Return a pseudorandom number in [0, 1) that the parts decide."""
    return zlib.crc32("|".join(map(str, parts)).encode()) / 2**32


def made_up(source: WrittenSource, composes: bool, guess: str = "at random") -> MadeUp:
    """A model that knows seven of ten hops, each by itself, and guesses all else."""
    labels = {entity.id: entity.label for entity in source.entity_records if isinstance(entity, Entity)}
    facts = [fact for fact in source.fact_records if isinstance(fact, Fact)]
    known = {fact.id: number("known", fact.id) < 0.7 for fact in facts}
    capitals = {fact.subject: fact for fact in facts if fact.relation == "capital"}
    answers: dict[str, str] = {}
    for fact in facts:
        if known[fact.id] and fact.relation == "lives":
            answers[f"The country where {labels[fact.subject]} lives is"] = labels[fact.object]
            second = capitals[fact.object]
            if composes and known[second.id]:
                answers[f"The capital of the country where {labels[fact.subject]} lives is"] = labels[second.object]
        elif known[fact.id]:
            answers[f"The capital of {labels[fact.subject]} is"] = labels[fact.object]

    def log_probability(prompt: str, name: str) -> float:
        if answers.get(prompt) == name:
            return -0.5
        said = "" if guess == "by popularity" and "where" in prompt and "capital" in prompt else prompt
        return -20 + number(said, name.replace("Ville", "Town"))

    return MadeUp(log_probability)


def measured(graph: Graph, scorer: TextScorer, **options: Any) -> Measurement:
    how: dict[str, Any] = {"relations": ["lives"], "second": ["capital"], "as_of": AS_OF, **options}
    return kgprobe.measure(graph, Model(scorer.name, open_scorer=lambda: scorer), "two-hops", **how)


def table(result: Measurement, key: str) -> list[Mapping[str, Any]]:
    return list(next(table for table in result.tables() if table.key == key).rows)


@pytest.mark.usefixtures("home")
def test_independent_hops_composed_show_no_loss(graph: Graph) -> None:
    source = world()
    load(graph, source)
    result = measured(graph, made_up(source, composes=True))
    [composition] = table(result, "composition")
    assert (composition["paths"], result.answers.answered) == (PEOPLE, PEOPLE)
    corrected, right = composition["corrected for guessing"], composition["composition right"]
    assert isinstance(corrected, Share)
    assert corrected.high == 1
    assert corrected.value > 0.97
    assert right.value > 0.85
    # Of another subject, another answer is known, which may be among those compared, or none is.
    assert composition["for another subject"].value < 1 / 11
    assert composition["difference, points"].low > 0.7
    hops = {row["known hops"]: row for row in table(result, "hops")}
    assert sum(row["paths"] for name, row in hops.items() if name != "all paths") == PEOPLE
    for name in ("only the first", "only the second"):
        assert hops[name]["composition right"].low < 1 / 11 < hops[name]["composition right"].high
    [pair] = table(result, "pairs")
    assert (pair["first relation"], pair["second relation"]) == ("lives in", "capital")
    assert pair["composition right"] == right == hops["both"]["composition right"]
    assert result.finding().measure is not None
    assert "of the" in result.summary()
    assert "with both hops known" in result.summary()


@pytest.mark.parametrize("guess", ["at random", "by popularity"])
@pytest.mark.usefixtures("home")
def test_model_that_cannot_compose_shows_the_loss(graph: Graph, guess: str) -> None:
    source = world()
    load(graph, source)
    [composition] = table(measured(graph, made_up(source, composes=False, guess=guess)), "composition")
    assert composition["both hops known"] > 80
    assert composition["corrected for guessing"].high < 0.4
    assert composition["composition right"].high < 0.5
    difference = composition["difference, points"]
    assert isinstance(difference, Points)
    # A preferred answer stays preferred, whoever is asked about.
    assert difference.low <= 0 <= difference.high


@pytest.mark.usefixtures("home")
def test_outcome_is_the_definition(graph: Graph) -> None:
    load(graph, world())
    scorer = tiny_scorer()
    allowed = score_tolerance(scorer.model)
    names = {
        entity.id: [entity.label, *entity.aliases] for entity in world().entity_records if isinstance(entity, Entity)
    }
    facts = {fact.id: fact for fact in world().fact_records if isinstance(fact, Fact)}
    capitals = {fact.subject: fact.object for fact in facts.values() if fact.relation == "capital"}
    result = measured(graph, scorer, limit=12, distractors=3)

    @cache
    def log_plausibility(prompt: str, entity: str) -> float:
        scores = [naive_score(scorer.model, scorer.tokenizer, [0], prompt, name, eos=True) for name in names[entity]]
        return float(np.logaddexp.reduce(scores))

    rows = []
    for outcome in result.outcomes:
        fact, evidence = facts[outcome.fact.fact], outcome.evidence
        assert isinstance(evidence, TwoHopEvidence)
        assert evidence.other is not None
        answer, subject = capitals[fact.object], names[fact.subject][0]
        prompts = [
            f"The capital of {names[fact.object][0]} is",
            f"The capital of the country where {subject} lives is",
            f"The capital of the country where {evidence.other.subject.label} lives is",
        ]
        (home,) = (other.object for other in facts.values() if other.subject == evidence.other.subject.id)
        assert home == evidence.other.middle.id != fact.object
        asked = [(f"The country where {subject} lives is", fact.object, evidence.first)]
        asked += [(prompt, answer, evidence.second) for prompt in prompts]
        right = []
        for place, (prompt, own, part) in enumerate(asked):
            sentence = part.sentences[max(0, place - 1)]
            rivals = [part.rivals[rival].id for rival in sentence.rivals]
            assert sentence.prompt == prompt
            assert own not in rivals
            assert len(set(rivals)) == 3
            naive = [log_plausibility(prompt, entity) for entity in (own, *rivals)]
            assert sentence.log_plausibilities.tolist() == pytest.approx(naive, abs=allowed)
            right.append(naive[0] > max(naive[1:]))
        assert (outcome.verdict is Verdict.RIGHT) == right[2]
        assert outcome.prompt == prompts[1]
        rows.append(right)
    first, second, composed, other = np.array(rows).T
    scores = np.where(np.array(rows), 1, -1 / 3)
    [all_paths] = [row for row in table(result, "hops") if row["known hops"] == "all paths"]
    assert all_paths["composition right"].value == pytest.approx(composed.mean())
    assert all_paths["by chance"].value == pytest.approx(1 / 4)
    assert all_paths["for another subject"].value == pytest.approx(other.mean())
    both = first & second
    for row in table(result, "composition"):
        assert row["both hops known"] == both.sum()
        assert row["composition right"].value == pytest.approx(composed[both].mean())
        corrected = scores[:, :3].prod(axis=1).sum() / scores[:, :2].prod(axis=1).sum()
        assert row["corrected for guessing"].value == pytest.approx(np.clip(corrected, 0, 1))
        difference = (composed[both].astype(float) - other[both]).mean()
        assert row["difference, points"].value == pytest.approx(difference)
    assert both.any()


UNUSUAL = [
    Entity("a", "Ann"),
    Entity("b", "Bob"),
    Entity("cy", "Cy"),
    Entity("di", "Di of Land 1"),
    Entity("ed", "Ed"),
    Entity("fay", "Fay"),
    Entity("gus", "Gus"),
    Entity("hal", "Hal"),
    Entity("ida", "Ida"),
    Entity("jo", "Jo"),
    Entity("state", "Singapore"),
    Entity("city", "Singapore City", ("Singapore",)),
    *(Entity(f"c{n}", f"Land {n}") for n in range(5)),
    *(Entity(f"t{n}", f"Town {n}") for n in range(5)),
    Entity("1990", "1990", value="1990", datatype="year"),
]
WAYS = [
    *(Fact(f"k{n}", f"c{n}", "capital", f"t{n}") for n in range(3)),
    Fact("two", "c3", "capital", "t3"),
    Fact("two more", "c3", "capital", "t4"),
    Fact("plain", "a", "lives", "c0"),
    Fact("several", "b", "lives", "c0"),
    Fact("several more", "b", "lives", "c1"),
    Fact("shortcut", "cy", "lives", "c1"),
    Fact("joins", "t1", "likes", "cy", end="1999"),
    Fact("named", "di", "lives", "c1"),
    Fact("named by the second", "jo", "lives", "state"),
    Fact("city state", "state", "capital", "city"),
    Fact("no way", "ed", "lives", "c4"),
    Fact("two answers", "fay", "lives", "c3"),
    Fact("ended", "gus", "lives", "c2", end="1999"),
    Fact("literal", "hal", "lives", "1990"),
    Fact("former", "ida", "lives", "c1", end="2001"),
    Fact("current", "ida", "lives", "c2", start="2001"),
]
# Why each fact of `lives` is not asked, by a part of the reason; None for those that are.
REASONS = {
    "plain": None,
    "several": "several objects by its relation",
    "shortcut": "a fact joins both ends",
    "named": "the question names the middle or the answer",
    "named by the second": "the question names the middle or the answer",
    "no way": "no askable relation with one object",
    "two answers": "no askable relation with one object",
    "ended": "it has ended",
    "literal": "a date, number or text",
    "current": None,
}


@pytest.mark.usefixtures("home")
def test_paths_without_unique_hidden_middle_are_left_out(graph: Graph) -> None:
    load(graph, WrittenSource(UNUSUAL, WAYS, RELATIONS))
    keys = [FactKey(fact.subject, fact.id) for fact in WAYS if fact.id in REASONS]
    result = measured(graph, tiny_scorer(), facts=keys, distractors=2)
    outcomes = {outcome.fact.fact: outcome for outcome in result.outcomes}
    for fact, reason in REASONS.items():
        assert (outcomes[fact].reason or "").count(reason or "it") >= (reason is not None), (fact, outcomes[fact])
        assert outcomes[fact].verdict.counts == (reason is None), (fact, outcomes[fact].reason)
    evidence = outcomes["current"].evidence
    assert isinstance(evidence, TwoHopEvidence)
    assert (evidence.right_answer, evidence.second_fact) == ("Town 2", "k2")
    # Neither those whom the sentences name nor the middle's own answer.
    assert {rival.id for rival in evidence.second.rivals} <= {"t0", "t1", "t3", "t4", "city"}
    # Nor does the control's question name its own middle.
    for seed in range(6):
        again = measured(graph, made_up(world(), composes=True), facts=keys, distractors=2, seed=seed)
        others = [each.evidence.other for each in again.outcomes if isinstance(each.evidence, TwoHopEvidence)]
        assert "Di of Land 1" not in {other.subject.label for other in others if other}


@pytest.mark.usefixtures("home")
def test_rate_without_correction_is_explained(graph: Graph) -> None:
    load(graph, source := world())
    homes = {fact.subject: fact.object for fact in source.fact_records if isinstance(fact, Fact)}
    keys = [FactKey(f"p{n}", f"h{n}") for n in range(12)]
    answers = {f"The country where Person {n} lives is": f"Land {homes[f'p{n}'][1:]}" for n in range(12)}
    known = homes["p0"][1:]
    answers[f"The capital of Land {known} is"] = f"Town {known}"
    scorer = MadeUp(lambda prompt, name: -0.5 if answers.get(prompt) == name else -20 + number(prompt, name) / 2)
    made = measured(graph, scorer, facts=keys, distractors=3)
    [composition] = table(made, "composition")
    assert composition["corrected for guessing"] is None
    assert "not corrected for guessing: both hops are known in too few paths" in made.summary()


@pytest.mark.usefixtures("home")
def test_several_second_relations_are_drawn_by_the_seed(graph: Graph) -> None:
    founder = Relation("leader", "leader", clozes=("The leader of [X] is [Y]",))
    leads = [Fact(f"l{n}", f"c{n}", "leader", f"p{n}") for n in range(COUNTRIES)]
    source = world()
    load(graph, WrittenSource(source.entity_records, [*source.fact_records, *leads], [*RELATIONS, founder]))
    scorer = made_up(source, composes=True)

    def drawn(**options: Any) -> list[str]:
        result = measured(graph, scorer, limit=16, **options)
        return [outcome.evidence.second_fact for outcome in result.outcomes if outcome.evidence]

    assert {fact[0] for fact in drawn(second=[])} == {"k", "l"}
    assert drawn(second=[]) == drawn(second=[], batch_size=3, name="other") != drawn(second=[], seed=1)
    assert {fact[0] for fact in drawn(second=["leader"])} == {"l"}
    result = measured(graph, scorer, relations=[], second=[], limit=60)
    # People live in a country with a capital or a leader; leaders live somewhere, too.
    pairs = {(row["first relation"], row["second relation"]) for row in table(result, "pairs")}
    assert {("lives in", "capital"), ("lives in", "leader"), ("leader", "lives in")} == pairs
    notes = next(table for table in result.tables() if table.key == "pairs").notes
    assert "Not asked as first hops, without a noun phrase: 1 relation (likes)." in notes


@pytest.mark.usefixtures("home")
def test_relations_without_sentence_are_named(graph: Graph) -> None:
    load(graph, world())
    with pytest.raises(UnknownNameError, match=r"no noun phrase, .*: likes"):
        measured(graph, tiny_scorer(), relations=["likes"])
    with pytest.raises(UnknownNameError, match="nothing"):
        measured(graph, tiny_scorer(), second=["nothing"])
    load(graph, WrittenSource((), (), [Relation("capital", "capital", clozes=("The river [X] has [Y]",))], name="more"))
    with pytest.raises(UnknownNameError, match=r"takes a noun phrase, .*: capital"):
        measured(graph, tiny_scorer(), second=["capital"])
    only = [Relation(one.id, one.label, clozes=("[X] has [Y]",)) for one in RELATIONS]
    load(graph, WrittenSource((), (), only, name="others"))
    with pytest.raises(KgprobeError, match="No relation has a noun phrase"):
        measured(graph, tiny_scorer(), relations=[])
