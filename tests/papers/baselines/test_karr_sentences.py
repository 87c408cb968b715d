"""KaRR against its definition, name by name, and its contrasts on both engines."""

import math
import random

import numpy as np
import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.papers.baselines.items import BaselineItem
from kgprobe.papers.baselines.karr import Contrasts, draw_contrasts, karr
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.corrections import WrittenCloze
from kgprobe.verbalize.sentences import Cloze
from tests.models.tiny import naive_score
from tests.papers.baselines.examples import ASKED, CAPITAL, NAMELESS, TOO_LONG, tiny
from tests.written_source import WrittenSource

SUBJECTS = ("Poland", "Łódź", "the moon")
TEMPLATES = ("[X] is next to the [Y]", "[X] speaks [Y]")


def test_it_is_the_mean_of_two_ratios() -> None:
    scorer = tiny()

    def probability(prompt: str, names: tuple[str, ...]) -> float:
        different = dict.fromkeys(name for name in names if name.strip())
        return sum(math.exp(naive_score(scorer.model, scorer.tokenizer, [0], prompt, name)) for name in different)

    asked = [
        BaselineItem(Cloze(CAPITAL, "Japan"), ("Tokyo", "東京")),
        BaselineItem(Cloze("[X] is in [Y]", "York"), ("England", "")),
    ]
    found = karr(scorer, asked, [Contrasts(SUBJECTS, TEMPLATES), Contrasts(SUBJECTS[:1], TEMPLATES[1:])])
    prompts = [
        (
            "The capital of Japan is",
            ["The capital of Poland is", "The capital of Łódź is", "The capital of the moon is"],
            ["Japan is next to the", "Japan speaks"],
        ),
        ("York is in", ["Poland is in"], ["York speaks"]),
    ]
    for one, (own, subjects, relations), value in zip(asked, prompts, found.values, strict=True):
        numerator = probability(own, one.names)
        first = numerator / np.mean([probability(prompt, one.names) for prompt in subjects])
        second = numerator / np.mean([probability(prompt, one.names) for prompt in relations])
        assert value == pytest.approx(math.sqrt(first * second), rel=1e-3)
    assert not found.reasons


def test_written_sentence_is_asked_of_other_subjects() -> None:
    asked = BaselineItem(WrittenCloze("the capital of [X] are [Y]", "Japan"), ("Tokyo",))
    found = karr(tiny(), [asked], [Contrasts(("Netherlands",), TEMPLATES[:1])])

    def log_probability(prompt: str) -> float:
        return naive_score(tiny().model, tiny().tokenizer, [0], prompt, "Tokyo")

    own, *others = map(
        log_probability, ("the capital of Japan are", "the capital of Netherlands are", "Japan is next to the")
    )
    assert math.log(found.values[0]) == pytest.approx(own - sum(others) / 2, rel=1e-3)


def test_karr_is_undefined_if_both_make_no_difference() -> None:
    same = Contrasts(("Japan", "Japan"), (CAPITAL,))
    assert karr(tiny(), ASKED[:1], [same]).values[0] == pytest.approx(1)


def test_reasons() -> None:
    both = Contrasts(SUBJECTS, TEMPLATES)
    fixed = BaselineItem(Cloze("The capital of Japan is [Y]", "Japan"), ("Tokyo",))
    asked = [ASKED[0], NAMELESS, TOO_LONG, fixed, ASKED[0], ASKED[0], ASKED[0], ASKED[0]]
    contrasts = [both] * 4 + [
        Contrasts((), TEMPLATES),
        Contrasts(SUBJECTS, ()),
        Contrasts(("York " * 300,), TEMPLATES),
        Contrasts(("York " * 300, *SUBJECTS), TEMPLATES),
    ]
    found = karr(tiny(), asked, contrasts)
    assert np.isnan(found.values).tolist() == [False, True, True, True, True, True, True, False]
    assert found.values[7] == pytest.approx(found.values[0], rel=1e-4)
    assert "more than the 256" in found.reasons.pop(2)
    assert found.reasons == {
        1: "all names of its object are white space",
        3: "its sentence has no placeholder for the subject",
        4: "the graph has no other subject of its kind",
        5: "the graph has no other relation with a cloze sentence",
        6: "the graph has no other subject of its kind",
    }


def test_contrasts_are_other_subjects_and_other_relations(graph: Graph) -> None:
    generator = random.Random(5)
    places = [Entity(f"e{n}", f"place {n}", types=("place",)) for n in range(12)]
    relations = [
        Relation("r0", clozes=("[X] is [Y]", "[X] was [Y]")),
        Relation("r1", clozes=("[X] has [Y]", "[X] had [Y]")),
        Relation("r2", clozes=("[X] makes [Y]",)),
        Relation("silent"),
        Relation("dead", clozes=("[X] kills [Y]",), active=False),
    ]
    facts = [Fact(f"f{n}", f"e{n}", f"r{generator.randrange(3)}", "e11") for n in range(10)]
    load(graph, WrittenSource(places, facts, relations))
    keys = [FactKey(fact.subject, fact.id) for fact in facts]
    clozes = {relation.id: relation.clozes for relation in relations[:3]}
    seen = set()
    for seed in range(5):
        drawn = draw_contrasts(graph, keys, 5, [seed])
        for fact, contrasts in zip(facts, drawn, strict=True):
            others = {place.label for place in places} - {f"place {fact.subject[1:]}"}
            assert len(contrasts.subjects) == len(set(contrasts.subjects) & others) == 5
            of = [next(id_ for id_, its in clozes.items() if template in its) for template in contrasts.templates]
            assert sorted(of) == sorted(set(clozes) - {fact.relation})
            seen.update(contrasts.templates)
    assert seen == {cloze for its in clozes.values() for cloze in its}
    assert draw_contrasts(graph, keys[3:4], 5, [4]) == drawn[3:4]
    assert [len(its.templates) for its in draw_contrasts(graph, keys, 1, [4])] == [1] * len(keys)
