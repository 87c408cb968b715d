"""Effect of unknown and incorrect examples on later ones: the probability of the objects by position.

Section 3 and appendix E of the latent-knowledge paper (its figure 2); docs/methods/studies.md. An unknown example has
an invented subject, whose name resembles real ones, and an object of the relation. An incorrect example has its subject
and a wrong object. Replaced examples are spread over the sequence or form one block in its middle; unknown and
incorrect ones have the same places. The model scores each sequence five times: unchanged, and with either kind of
examples in either arrangement. The effect on an example that is not replaced is its probability less that in the
unchanged sequence. Sequences are the units: intervals are Student's t over their means.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.sentences import score_spans
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.examples.prompts import Layout, Room, fitting
from kgprobe.report.plots import Line, Plot
from kgprobe.running.callbacks import Callbacks
from kgprobe.sampling.demonstrations import Demonstration, draw_demonstrations
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negatives
from kgprobe.stats.proportions import CONFIDENCE, Mean
from kgprobe.studies.options import NoisyExamplesOptions
from kgprobe.studies.study import Study, count_work, signed

Floats = NDArray[np.float64]

ARRANGEMENTS = ("spread", "block")
CONTENTS = ("unknown", "incorrect")
VARIANTS = tuple(product(ARRANGEMENTS, CONTENTS))
AS_IT_IS = "as it is"
_LAYOUT = Layout(" ", " ")
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
# Number of positions per point of the plots.
_BIN = 10


def noisy_examples_study(
    graph: Graph,
    model: Model,
    relations: Sequence[str],
    options: NoisyExamplesOptions,
    seed: int,
    as_of: int,
    callbacks: Callbacks,
) -> Study:
    """Measure sequences of examples with noise, and compute its effect.

    Args:
        relations: relations of the sequences, which take turns; those with too few facts are left out.
        as_of: date at which the facts are current, ``yyyymmdd``.

    Raises:
        KgprobeError: no sequence could be asked, or a callback stopped the study.
    """
    scorer = model.scorer()
    drawn, length = _draw_fitting(graph, relations, options.length, seed, as_of, scorer)
    names = sorted(drawn)
    replaced = max(options.replaced * length // options.length, 1)
    on_sequence = count_work(callbacks, options.sequences, options.sequences, "sequences")
    probabilities: list[NoisyProbabilities] = []
    refused: dict[str, str] = {}
    for number in range(options.sequences):
        turn, place = divmod(number, len(names))
        relation = names[place]
        if turn and place == 0:
            drawn = draw_demonstrations(graph, names, length, seed + turn, as_of)
        sequence = make_noisy(graph, relation, drawn[relation][:length], replaced, [seed + turn, number], as_of)
        measured = "an example has no wrong object" if sequence is None else measure_noise(scorer, sequence, _LAYOUT)
        if isinstance(measured, str):
            refused[relation] = measured
        else:
            probabilities.append(measured)
        on_sequence()
    if not probabilities:
        raise KgprobeError(f"No sequence could be asked: {next(iter(refused.values()))}.")
    relation_ids = {each.sequence.relation for each in probabilities}
    about = [f"{len(relation_ids):,} relations; {replaced} of {length} examples are replaced."]
    if length < options.length:
        about.append(f"The model's context has room for {length} examples, fewer than {options.length}.")
    for relation, reason in sorted(refused.items()):
        about.append(f"Left out: {relation}: {reason}.")
    config = {"graph": graph_state(graph), "scorer": scorer.describe(), "relations": names, "as_of": as_of}
    return noise_study(probabilities, model.name, config | {"seed": seed, **asdict(options)}, about)


def _draw_fitting(
    graph: Graph, relations: Sequence[str], most: int, seed: int, as_of: int, scorer: TextScorer
) -> tuple[dict[str, list[Demonstration]], int]:
    """Return demonstrations of relations with enough facts, and the number that fits into the model's context.

    Raises:
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
            margin = _LAYOUT.examples(examples[: count // _MARGIN])
            if not room.has_for(_LAYOUT.examples(examples[:count]), margin):
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
        right: the examples.
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

    Args:
        demonstrations: the examples.
        replaced: number of replaced examples.
        seed: of the random choices.
        as_of: objects that are right at this date (``yyyymmdd``) are not wrong.
    """
    generator = np.random.default_rng([*seed, _NOISE])
    length = len(demonstrations)
    # Never the first, so that all arrangements begin with the same example.
    spread = np.sort(generator.choice(np.arange(1, length), replaced, replace=False)).astype(np.int64)
    first = (length - replaced) // 2
    block = np.arange(first, first + replaced, dtype=np.int64)
    places = sorted({*spread.tolist(), *block.tolist()})
    keys = [FactKey(demonstrations[place].subject, demonstrations[place].fact) for place in places]
    incorrect = {}
    for place, others in zip(places, Negatives(graph, as_of).draw(keys, _OTHERS, seed), strict=True):
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
        sequence: the examples.
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
    for pairs in (sequence.right, *(sequence.with_noise(*variant) for variant in VARIANTS)):
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


def noise_study(
    measured: Sequence[NoisyProbabilities], model: str, config: Mapping[str, Any], about: Sequence[str] = ()
) -> Study:
    """Compute the effect of the noise.

    Args:
        measured: at least one, all of one length.
        about: notes on the sequences.
    """
    unchanged = np.array([probabilities.as_it_is for probabilities in measured])
    table: list[dict[str, Any]] = []
    verdicts = []
    plots = []
    for arrangement in ARRANGEMENTS:
        replaced = np.zeros(unchanged.shape, dtype=np.bool_)
        for row, probabilities in zip(replaced, measured, strict=True):
            row[probabilities.sequence.replaced[arrangement]] = True
        after = np.logical_or.accumulate(replaced, axis=1) & ~replaced
        next_after = after & np.roll(replaced, 1, axis=1)
        lines = [_line("none replaced", unchanged, np.ones_like(replaced))]
        changes: dict[str, Floats] = {}
        effects: dict[str, Mean] = {}
        for content in CONTENTS:
            noisy = np.array([probabilities.noisy[arrangement, content] for probabilities in measured])
            changes[content] = (noisy - unchanged).mean(axis=1, where=after)
            effect = effects[content] = _mean(changes[content])
            table.append(
                {
                    "replaced": f"{content}, {arrangement}",
                    "their own probability": float(noisy.mean(axis=1, where=replaced).mean()),
                    "of those after": float(noisy.mean(axis=1, where=after).mean()),
                    "change": effect.value,
                    "low": effect.low,
                    "high": effect.high,
                    "change of the next": float((noisy - unchanged).mean(axis=1, where=next_after).mean()),
                }
            )
            lines.append(_line(f"right ones, {content} among them", noisy, ~replaced))
            lines.append(_line(content, noisy, replaced, points=True))
        words = "spread" if arrangement == "spread" else "in a block"
        title, x_title = f"Replaced examples {words}", f"position, {_BIN} together"
        plots.append(Plot(title, x_title, "mean probability of the object", lines, y_range=None))
        verdicts.append(
            f"{words.capitalize()}, incorrect examples change the probability of later ones by"
            f" {signed(effects['incorrect'])}, unknown ones by {signed(effects['unknown'])}:"
            f" {_comparison(_mean(changes['unknown'] - changes['incorrect']))}."
        )
    sequences, length = unchanged.shape
    quarter = length // 4
    return Study(
        name="noisy-examples",
        verdict=" ".join(verdicts),
        title=f"Unknown and incorrect examples · {model} · {sequences:,} sequences of {length} examples",
        data=_data(measured),
        table=table,
        plots=plots,
        notes=[
            *about,
            "change is the probability of the examples after a replaced one, less that of the same examples where none"
            f" is replaced; its {CONFIDENCE:.0%} interval is Student's t over sequences.",
            f"Mean probability in unchanged sequences: {unchanged.mean():.3f};"
            f" {unchanged[:, :quarter].mean():.3f} in the first quarter,"
            f" {unchanged[:, -quarter:].mean():.3f} in the last.",
        ],
        config=config,
    )


def _mean(values: Floats) -> Mean:
    """Return a mean with its t interval; a single value has none."""
    mean = float(values.mean())
    if len(values) == 1:
        return Mean(mean, None, None)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * stats.sem(values))
    return Mean(mean, mean - reach, mean + reach)


def _comparison(more: Mean) -> str:
    """Return a clause on the effect of unknown examples less that of incorrect ones."""
    if more.low is None or more.high is None:
        return "a single sequence shows little"
    if more.low > 0:
        return "incorrect ones surely lower it more"
    return "unknown ones surely lower it more" if more.high < 0 else "neither surely lowers it more"


def _data(measured: Sequence[NoisyProbabilities]) -> list[dict[str, Any]]:
    parts = []
    for number, probabilities in enumerate(measured):
        sequence = probabilities.sequence
        variants = {(AS_IT_IS, "right"): probabilities.as_it_is, **probabilities.noisy}
        for (arrangement, content), values in variants.items():
            places = np.arange(len(values))
            columns = {
                "sequence": number,
                "relation": sequence.relation,
                "arrangement": arrangement,
                "content": content,
                "position": places + 1,
                "replaced": np.isin(places, sequence.replaced.get(arrangement, ())),
                "probability": values,
            }
            parts.append(pd.DataFrame(columns))
    return list(pd.concat(parts).to_dict("records"))


def _line(name: str, values: Floats, chosen: NDArray[np.bool_], points: bool = False) -> Line:
    """Return means over the chosen places of sequences, the places in bins."""
    means = pd.Series(values[chosen]).groupby(np.nonzero(chosen)[1] // _BIN).mean()
    return Line(name, (means.index * _BIN + (_BIN + 1) / 2).tolist(), means.tolist(), points=points)
