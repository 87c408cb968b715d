"""Sequences of examples, some of which are replaced: by ones that no model can know, or by ones that are wrong.

Section 3 of the latent-knowledge paper; docs/methods/studies.md. An unknown example has an invented subject, whose
name is made of the letters of real ones, and an object of the relation; an incorrect one has its subject and an
object that is wrong for it. What is replaced stands spread over the sequence or in one block in its middle; unknown
and incorrect ones take the same places.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from kgprobe.graph.client import Graph
from kgprobe.sampling.demonstrations import Demonstration
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives

ARRANGEMENTS = ("spread", "block")
CONTENTS = ("unknown", "incorrect")
# Sets these random choices apart from all others that follow from the same seed.
_NOISE = 11
# Letters that decide the next one; and the end of a name.
_LETTERS = 2
_END = "\n"
_TRIES = 200
# Of other objects, so many are drawn, since one that has the right one's label will not do.
_OTHERS = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """A subject with an object, as a model is shown them."""

    subject: str
    object: str


@dataclass(frozen=True, slots=True)
class NoisySequence:
    """Examples of one relation, as they are and in four other ways.

    Attributes:
        right: the examples.
        replaced: the places of those that are replaced, by arrangement; each shape (replaced,), sorted.
        replacements: by content, what stands in place of an example, by its place.
    """

    relation: str
    right: Sequence[Pair]
    replaced: Mapping[str, NDArray[np.int64]]
    replacements: Mapping[str, Mapping[int, Pair]]

    def with_noise(self, arrangement: str, content: str) -> list[Pair]:
        """The examples with some of them replaced."""
        places = set(self.replaced[arrangement].tolist())
        return [self.replacements[content][place] if place in places else pair for place, pair in enumerate(self.right)]


def make_noisy(
    graph: Graph, relation: str, demonstrations: Sequence[Demonstration], replaced: int, seed: Sequence[int], as_of: int
) -> NoisySequence | None:
    """Examples with their replacements; None where an example has no wrong object, or too few subjects are named.

    Args:
        demonstrations: the examples.
        replaced: how many of them.
        seed: what the random choices follow from.
        as_of: objects that are right at this date (``yyyymmdd``) are not wrong.
    """
    generator = np.random.default_rng([*seed, _NOISE])
    length = len(demonstrations)
    # Not the first, so that all arrangements begin alike.
    spread = np.sort(generator.choice(np.arange(1, length), replaced, replace=False)).astype(np.int64)
    first = (length - replaced) // 2
    block = np.arange(first, first + replaced, dtype=np.int64)
    places = sorted({*spread.tolist(), *block.tolist()})
    keys = [FactKey(demonstrations[place].subject, demonstrations[place].fact) for place in places]
    wrong = {}
    for place, others in zip(places, Negatives(graph, as_of).draw(keys, _OTHERS, seed), strict=True):
        right = demonstrations[place].object_label
        label = next((other.label for other in others if other.label.strip() and other.label != right), None)
        if label is None:
            return None
        wrong[place] = label
    names = [one.subject_label for one in demonstrations]
    invented = dict(zip(places, islice(invented_names(names, generator), len(places)), strict=False))
    if len(invented) < len(places):
        return None
    objects = generator.permutation(length)
    return NoisySequence(
        relation=relation,
        right=[Pair(one.subject_label, one.object_label) for one in demonstrations],
        replaced={"spread": spread, "block": block},
        replacements={
            "unknown": {
                place: Pair(invented[place], demonstrations[objects[number]].object_label)
                for number, place in enumerate(places)
            },
            "incorrect": {place: Pair(names[place], wrong[place]) for place in places},
        },
    )


def invented_names(names: Sequence[str], generator: np.random.Generator) -> Iterator[str]:
    """Names like these and none of them, no two the same: letter by letter as they follow each other in names.

    Ends where no new one is found.

    >>> next(invented_names(["Anna Berg", "Hanna Bergman", "Anton Bergen"], np.random.default_rng(0)))
    'Hanna Bergen'
    """
    following: dict[str, list[str]] = defaultdict(list)
    for name in names:
        text = name + _END
        for place, letter in enumerate(text):
            following[text[max(place - _LETTERS, 0) : place]].append(letter)
    taken, most = set(names), max(map(len, names), default=0)
    for _ in count():
        for _ in range(_TRIES):
            name = ""
            while len(name) <= most and not name.endswith(_END):
                letters = following[name[-_LETTERS:]]
                name += letters[generator.integers(len(letters))]
            made = name.removesuffix(_END).strip()
            if name.endswith(_END) and made and made not in taken:
                break
        else:
            return
        taken.add(made)
        yield made
