"""Unknown and incorrect examples in sequences, and the probabilities of the objects after them.

Section 3 and appendix E of the latent-knowledge paper; docs/methods/studies.md. An unknown example has an invented
subject, whose name resembles real ones, and an object of the relation. An incorrect example has its subject and a wrong
object. Replaced examples are spread over the sequence or form one block in its middle; unknown and incorrect ones have
the same places. The model scores each sequence five times: unchanged, and with either kind of examples in either
arrangement.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product, starmap

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.sentences import score_spans
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.examples.prompts import Layout, Room, fitting
from kgprobe.sampling.demonstrations import Demonstration, draw_demonstrations
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives

Floats = NDArray[np.float64]

ARRANGEMENTS = ("spread", "block")
CONTENTS = ("unknown", "incorrect")
VARIANTS = tuple(product(ARRANGEMENTS, CONTENTS))
LAYOUT = Layout(" ", " ")
# Separates these random choices from others with the same seed.
_NOISE = 11
# Number of letters that determine the next one; and the end of a name.
_LETTERS = 2
_END = "\n"
_TRIES = 200
# Number of wrong objects to draw; those with the right label are discarded.
_OTHERS = 8
# A sequence with replaced examples may have up to a fifth more tokens than the original.
_MARGIN = 5


def draw_fitting(
    graph: Graph, relations: Sequence[str], most: int, seed: int, as_of: int, scorer: TextScorer
) -> tuple[dict[str, list[Demonstration]], int]:
    """Return demonstrations of relations with enough facts, and the number that fits into the model's context.

    KgprobeError: no relation has enough facts, or fewer than four examples fit.
    """
    everything = draw_demonstrations(graph, relations, most, seed, as_of)
    drawn = {relation: examples for relation, examples in everything.items() if len(examples) >= most}
    if not drawn:
        relation = max(everything, key=lambda name: len(everything[name]))
        raise KgprobeError(
            f"No relation has {most} current facts of different subjects, with names of subject and object;"
            f" {relation} has {len(everything[relation])}. Choose a smaller `length`."
        )
    room = Room(scorer)

    def has_room(count: int) -> bool:
        for examples in drawn.values():
            margin = LAYOUT.examples(examples[: count // _MARGIN])
            if not room.has_for(LAYOUT.examples(examples[:count]), margin):
                return False
        return True

    length = fitting(most, has_room)
    if length < 4:
        raise KgprobeError(f"The context of {scorer.name}, {scorer.max_tokens} tokens, is too short for four examples.")
    return drawn, length


@dataclass(frozen=True, slots=True)
class ExamplePair:
    """Subject and object of an example in the prompt."""

    subject: str
    object: str


@dataclass(frozen=True, slots=True)
class NoisySequence:
    """Examples of one relation, unchanged and with replacements of both contents in both arrangements.

    Attributes:
        replaced: places of replaced examples by arrangement; each shape (replaced,), sorted.
        replacements: replacing examples by place, by content.
    """

    relation: str
    right: Sequence[ExamplePair]
    replaced: Mapping[str, NDArray[np.int64]]
    replacements: Mapping[str, Mapping[int, ExamplePair]]

    def with_noise(self, arrangement: str, content: str) -> list[ExamplePair]:
        """Return the examples with replacements."""
        places = set(self.replaced[arrangement].tolist())
        return [self.replacements[content][place] if place in places else pair for place, pair in enumerate(self.right)]


def make_noisy(
    graph: Graph, relation: str, demonstrations: Sequence[Demonstration], replaced: int, seed: Sequence[int], as_of: int
) -> NoisySequence | None:
    """Return examples with replacements; None if an example has no wrong object, or too few names can be invented.

    Objects that are right at ``as_of`` (``yyyymmdd``) are not wrong.
    """
    generator = np.random.default_rng([*seed, _NOISE])
    length = len(demonstrations)
    # Never the first, so that all arrangements begin with the same example.
    spread = np.sort(generator.choice(np.arange(1, length), replaced, replace=False)).astype(np.int64)
    first = (length - replaced) // 2
    block = np.arange(first, first + replaced, dtype=np.int64)
    places = sorted({*spread.tolist(), *block.tolist()})
    keys = [FactKey(demonstrations[place].subject, demonstrations[place].fact) for place in places]
    facts = describe_facts(graph, keys)
    incorrect = {}
    for place, others in zip(places, Negatives(graph, as_of).draw(facts, _OTHERS, seed), strict=True):
        example = demonstrations[place]
        wrong = [other.label for other in others if other.label.strip() and other.label != example.object_label]
        if not wrong:
            return None
        incorrect[place] = ExamplePair(example.subject_label, wrong[0])
    names = [example.subject_label for example in demonstrations]
    invented = list(islice(invented_names(names, generator), len(places)))
    if len(invented) < len(places):
        return None
    unknown = {}
    for place, name, index in zip(places, invented, generator.permutation(length), strict=False):
        unknown[place] = ExamplePair(name, demonstrations[index].object_label)
    return NoisySequence(
        relation=relation,
        right=[ExamplePair(example.subject_label, example.object_label) for example in demonstrations],
        replaced={"spread": spread, "block": block},
        replacements={"unknown": unknown, "incorrect": incorrect},
    )


def invented_names(names: Sequence[str], generator: np.random.Generator) -> Iterator[str]:
    """Yield distinct new names, letter by letter with the letter sequences of these names.

    Ends after ``_TRIES`` attempts without a new name.

    >>> next(invented_names(["Anna Berg", "Hanna Bergman", "Anton Bergen"], np.random.default_rng(0)))
    'Hanna Bergen'
    """
    following: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        text = name + _END
        for place, letter in enumerate(text):
            following[text[max(place - _LETTERS, 0) : place]].append(letter)
    taken_names, most = set(names), max(map(len, names), default=0)
    tries = 0
    while tries < _TRIES:
        tries += 1
        text = ""
        while len(text) <= most and not text.endswith(_END):
            letters = following[text[-_LETTERS:]]
            text += letters[generator.integers(len(letters))]
        name = text.strip()
        if text.endswith(_END) and name and name not in taken_names:
            tries = 0
            taken_names.add(name)
            yield name


@dataclass(frozen=True, slots=True)
class NoisyProbabilities:
    """The probabilities of one sequence's objects.

    Attributes:
        as_it_is: probability of each object given all examples before it, unchanged; shape (examples,).
        noisy: the same with replacements, by arrangement and content.
    """

    sequence: NoisySequence
    as_it_is: Floats
    noisy: Mapping[tuple[str, str], Floats]


def measure_noise(scorer: TextScorer, sequence: NoisySequence, layout: Layout) -> NoisyProbabilities | str:
    """Return the probabilities of a sequence's objects in all five variants, or the reason why the model rejects it.

    Cost: one pass over the tokens of each variant.
    """
    probabilities = []
    for pairs in (sequence.right, *starmap(sequence.with_noise, VARIANTS)):
        scored = score_spans(scorer, *_written(pairs, layout))
        if scored.reasons:
            return next(iter(scored.reasons.values()))
        probabilities.append(np.exp(scored.values))
    as_it_is, *noisy = probabilities
    return NoisyProbabilities(sequence, as_it_is, dict(zip(VARIANTS, noisy, strict=True)))


def _written(pairs: Sequence[ExamplePair], layout: Layout) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of the examples, and the spans of their objects with the separator before each."""
    text = ""
    spans = []
    for pair in pairs:
        before = layout.after(text, pair.subject)
        text = join(before, layout.separator, pair.object)
        # As in the probe: the prompt ends with the subject.
        spans.append((len(before), len(text)))
    return text, spans
