"""Scored cases, from the names and sentences of the example graph."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kgprobe.base.records import Entity, Fact, Placed, Relation
from kgprobe.sources.contract import Source, open_source
from kgprobe.verbalize.sentences import Cloze


@dataclass(frozen=True, slots=True)
class Case:
    """Prompts with their continuations.

    Attributes:
        name: ``options``, ``examples`` or ``distractors``.
        prompts: the questions.
        continuations: the options of each question.
        eos: True if EOS is scored after each.
    """

    name: str
    prompts: Sequence[str]
    continuations: Sequence[Sequence[str]]
    eos: bool = False

    def part(self, questions: int, continuations: int | None = None) -> "Case":
        """Return the first questions, with their first or all continuations."""
        return Case(
            self.name,
            self.prompts[:questions],
            [options[:continuations] for options in self.continuations[:questions]],
            self.eos,
        )

    @property
    def size(self) -> int:
        """Number of continuations."""
        return sum(map(len, self.continuations))


@dataclass(frozen=True, slots=True)
class Example:
    """Records of the example graph, by id."""

    entities: Mapping[str, Entity]
    relations: Mapping[str, Relation]
    facts: Sequence[Fact]

    def cloze(self, fact: Fact, generator: random.Random) -> Cloze:
        """Return one of the fact's sentences."""
        return Cloze(generator.choice(self.relations[fact.relation].clozes), self.label(fact.subject))

    def label(self, entity: str) -> str:
        """Return an entity's name."""
        return self.entities[entity].label or entity


def read_example() -> Example:
    """Return the records of the included example graph."""
    source: Source = open_source("example")
    return Example(
        {entity.id: entity for entity in _records(source.entities(), Entity)},
        {relation.id: relation for relation in _records(source.relations(), Relation)},
        list(_records(source.facts(), Fact)),
    )


R = TypeVar("R")


def _records(stream: Iterator[Placed], kind: type[R]) -> Iterator[R]:
    for placed in stream:
        if isinstance(placed.record, kind):
            yield placed.record


def options_case(example: Example, tokens: Callable[[str], int], seed: int) -> Case:
    """Return 60 questions with the right object and 59 others of its relation, of at most three tokens."""
    generator = random.Random(seed)
    prompts, continuations = [], []
    for fact in generator.sample(example.facts, len(example.facts)):
        cloze = example.cloze(fact, generator)
        objects = sorted({other.object for other in example.facts if other.relation == fact.relation})
        names = dict.fromkeys(name for entity in objects for name in cloze.continuations([example.label(entity)]))
        (right,) = cloze.continuations([example.label(fact.object)])
        short = [name for name in names if name != right and tokens(name) <= 3]
        if tokens(right) <= 3 and len(short) >= 59:
            prompts.append(cloze.prompt)
            continuations.append([right, *generator.sample(short, 59)])
        if len(prompts) == 60:
            break
    return Case("options", prompts, continuations)


def examples_case(example: Example, seed: int) -> Case:
    """Return 20 countries with 100 capitals each, after 50 examples."""
    generator = random.Random(seed)
    current = {fact.subject: fact for fact in example.facts if fact.relation == "P36" and fact.end is None}
    pairs = [(example.label(fact.subject), example.label(fact.object)) for fact in current.values()]
    generator.shuffle(pairs)
    examples = " ".join(f"{country} {capital}" for country, capital in pairs[:50])
    capitals = sorted({capital for _, capital in pairs})
    countries = pairs[50:70]
    return Case(
        "examples",
        [f"{examples} {country}" for country, _ in countries],
        [
            [right, *generator.sample([capital for capital in capitals if capital != right], 99)]
            for _, right in countries
        ],
    )


def distractors_case(example: Example, seed: int) -> Case:
    """Return 50 facts with 200 distractors each, with all names and EOS."""
    generator = random.Random(seed)
    several = [entity for entity in example.entities.values() if entity.label and entity.aliases]
    prompts, continuations = [], []
    for fact in generator.sample(example.facts, 50):
        cloze = example.cloze(fact, generator)
        right = example.entities[fact.object]
        others = [entity for entity in generator.sample(several, len(several)) if entity.id != right.id]
        others.sort(key=lambda entity: set(right.types).isdisjoint(entity.types))
        prompts.append(cloze.prompt)
        continuations.append(
            [name for entity in (right, *others[:200]) for name in cloze.continuations([entity.label, *entity.aliases])]
        )
    return Case("distractors", prompts, continuations, eos=True)
