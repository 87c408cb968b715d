"""The authors' KaRR against its definition, token by token, and its contrasts on both engines."""

import math

import pytest
import torch

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.papers.baselines.karr import (
    UNTAKEN,
    AuthorsCase,
    AuthorsContrasts,
    draw_authors_contrasts,
    karr_authors,
)
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.sentences import Cloze
from tests.papers.baselines.examples import CAPITAL, tiny
from tests.written_source import WrittenSource

SUBJECT, OBJECT = ("Japan", "Nippon"), ("Tokyo", "東京")
OTHERS = (("Poland",), ("Peru", "Perú"))
TEMPLATES = ("[X] is next to [Y]", "The emperor of [X] lives in [Y]")


def case(sentences: tuple[str, ...] = (CAPITAL, "[X] is led from [Y]"), **changed: object) -> AuthorsCase:
    contrasts = AuthorsContrasts(OTHERS, TEMPLATES)
    parts = {"subject": SUBJECT, "object": OBJECT, "contrasts": contrasts, **changed}
    return AuthorsCase(tuple(Cloze(sentence, "") for sentence in sentences), **parts)  # type: ignore[arg-type]


def test_karr_authors_equals_its_definition() -> None:
    scorer = tiny()

    def mean(text: str, last: str | None = None) -> float:
        """The geometric mean of the probabilities of a text's tokens, or of as many of the last as another has."""
        ids = scorer.tokenizer(text, add_special_tokens=False)["input_ids"]
        count = len(ids) if last is None else len(scorer.tokenizer(last, add_special_tokens=False)["input_ids"])
        with torch.inference_mode():
            logits = scorer.model(torch.tensor([[0, *ids]])).logits[0, :-1].double().log_softmax(-1)
        logs = [float(row[token]) for row, token in zip(logits, ids, strict=True)]
        return math.exp(sum(logs[-count:]) / count)

    def weighted(names: tuple[str, ...]) -> float:
        prompts = [text.format(name) for text in ("The capital of {} is", "{} is led from") for name in names]
        return sum(mean(prompt) * sum(mean(f"{prompt} {end}", f" {end}") for end in OBJECT) for prompt in prompts)

    def related(name: str) -> float:
        ends = [(f"{name} is next to {end}", f" is next to {end}") for end in OBJECT]
        ends += [(f"The emperor of {name} lives in {end}", f" The emperor of  lives in {end}") for end in OBJECT]
        return mean(name) * sum(mean(text, rest) for text, rest in ends)

    own = weighted(SUBJECT)
    subject = own / (sum(map(weighted, OTHERS)) / 2)
    relation = own / (sum(map(related, SUBJECT)) / 2)
    assert karr_authors(scorer, [case()]) == [pytest.approx(math.sqrt(subject * relation), rel=1e-3)]


def test_karr_authors_without_a_value_says_why() -> None:
    nothing = AuthorsContrasts((), ())
    cases = [
        case(("The capital of Japan is [Y]",)),
        case(subject=("York " * 300,)),
        case(contrasts=AuthorsContrasts((), TEMPLATES)),
        case(contrasts=AuthorsContrasts(OTHERS, ())),
        case(contrasts=nothing),
    ]
    assert karr_authors(tiny(), cases) == [
        "its sentence has no placeholder for the subject",
        UNTAKEN,
        "the graph has no other subject of its kind",
        "the graph has no other relation with a cloze sentence",
        "the graph has no other subject of its kind",
    ]


def test_authors_contrasts_share_relation_and_object(graph: Graph) -> None:
    entities = [
        *(Entity(f"s{n}", f"subject {n}", aliases=(f"alias {n}", " "), types=("place",)) for n in range(9)),
        Entity("o", "object"),
    ]
    relations = [Relation(f"r{n}", clozes=(f"[X] has {n} [Y]",)) for n in range(3)]
    facts = [Fact(f"f{n}", f"s{n}", f"r{n % 2}", "o") for n in range(8)] + [Fact("other", "s8", "r2", "s1")]
    load(graph, WrittenSource(entities, facts, relations))
    keys = [FactKey(fact.subject, fact.id) for fact in facts]
    drawn = draw_authors_contrasts(graph, keys, [3])
    for fact, contrasts in zip(facts[:8], drawn, strict=False):
        subjects = {(f"subject {n}", f"alias {n}") for n in range(8) if n % 2 == int(fact.relation[1])}
        assert len(contrasts.subjects) == 4
        assert set(contrasts.subjects) == subjects
        assert sorted(contrasts.templates) == ["[X] has 0 [Y]", "[X] has 1 [Y]"]
    assert drawn[8] == AuthorsContrasts((("subject 8", "alias 8"),), ("[X] has 2 [Y]",))
    assert draw_authors_contrasts(graph, keys[3:4], [3]) == drawn[3:4]
