"""Effect of unknown and incorrect examples on later ones: the probability of the objects by position.

Section 3 and appendix E of the latent-knowledge paper (its figure 2); docs/methods/studies.md.
:mod:`kgprobe.probes.examples.noise` makes the sequences. The effect on an example that is not replaced is its
probability less that in the unchanged sequence. Sequences are the units: intervals are Student's t over their means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from kgprobe.answers.callbacks import Callbacks, count_work
from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model
from kgprobe.papers.studies.options import NoisyExamplesOptions
from kgprobe.papers.studies.study import Study, signed
from kgprobe.probes.examples.noise import (
    ARRANGEMENTS,
    CONTENTS,
    LAYOUT,
    NoisyProbabilities,
    draw_fitting,
    make_noisy,
    measure_noise,
)
from kgprobe.results.rendering.plots import Line, Plot
from kgprobe.results.result import Listing
from kgprobe.sampling.demonstrations import draw_demonstrations
from kgprobe.stats.proportions import CONFIDENCE

Floats = NDArray[np.float64]

AS_IT_IS = "as it is"


@dataclass(frozen=True, slots=True)
class NoiseEffect(ResultRow):
    """Effect of replaced examples.

    Attributes:
        replaced: content and arrangement of the replaced examples.
        own, after: mean probabilities of the replaced examples, and of those after one.
        change: ``after`` less the probability of the same examples where none is replaced.
        change_of_next: the same for examples right after a replaced one.
    """

    replaced: Annotated[str, Heading("replaced")]
    own: Annotated[float, Heading("their own probability")]
    after: Annotated[float, Heading("of those after")]
    change: Annotated[Mean, Heading("change")]
    change_of_next: Annotated[float, Heading("change of the next")]


@dataclass(frozen=True, slots=True)
class ExampleProbability(ResultRow):
    """Probability of an example's object in a sequence."""

    sequence: int
    relation: str
    arrangement: str
    content: str
    position: int
    replaced: bool
    probability: float


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class NoisyExamplesStudy(Study):
    """Effect of unknown and incorrect examples on later ones."""

    table: Annotated[Sequence[NoiseEffect], Listing("", detail=True)]
    data: Annotated[Sequence[ExampleProbability], Listing(main=True)]

    name: ClassVar[str] = "noisy-examples"

    @property
    def plots(self) -> Sequence[Plot]:
        """The probabilities by position: a plot for each arrangement, or for each variant at every position."""
        frame, each = self.to_frame(), self.config["positions_per_point"]
        unchanged = frame[frame["arrangement"] == AS_IT_IS]
        plots = [_every_position("No replaced examples", unchanged)] if each == 1 else []
        for arrangement in ARRANGEMENTS:
            title = f"Replaced examples {_WORDS[arrangement]}"
            lines = [_line("none replaced", unchanged, each)]
            for content in CONTENTS:
                noisy = frame[(frame["arrangement"] == arrangement) & (frame["content"] == content)]
                if each == 1:
                    plots.append(_every_position(f"{title}: {content}", noisy))
                    continue
                lines.append(_line(f"right ones, {content} among them", noisy[~noisy["replaced"]], each))
                lines.append(_line(content, noisy[noisy["replaced"]], each, points=True))
            if each > 1:
                x_title = f"position, {each} together"
                plots.append(Plot(title, x_title, "mean probability of the object", lines, y_range=None))
        return plots


_WORDS = {"spread": "spread", "block": "in a block"}


def noisy_examples_study(
    graph: Graph,
    model: Model,
    relations: Sequence[str],
    options: NoisyExamplesOptions,
    seed: int,
    as_of: int,
    callbacks: Callbacks,
) -> NoisyExamplesStudy:
    """Measure sequences of examples with noise, and compute its effect.

    Args:
        relations: relations of the sequences, which take turns; those with too few facts are left out.
    """
    scorer = model.scorer()
    drawn, length = draw_fitting(graph, relations, options.length, seed, as_of, scorer)
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
        measured = "an example has no wrong object" if sequence is None else measure_noise(scorer, sequence, LAYOUT)
        if isinstance(measured, str):
            refused[relation] = measured
        else:
            probabilities.append(measured)
        on_sequence()
    if not probabilities:
        raise KgprobeError(f"No sequence could be asked: {next(iter(refused.values()))}.")
    relation_ids = set(map(attrgetter("sequence.relation"), probabilities))
    about = [f"{len(relation_ids):,} relations; {replaced} of {length} examples are replaced."]
    if length < options.length:
        about.append(f"The model's context has room for {length} examples, fewer than {options.length}.")
    for relation, reason in sorted(refused.items()):
        about.append(f"Left out: {relation}: {reason}.")
    config = {"graph": graph_state(graph), "scorer": scorer.describe(), "relations": names, "as_of": as_of}
    return noise_study(probabilities, model.name, config | {"seed": seed, **asdict(options)}, about)


def noise_study(
    measured: Sequence[NoisyProbabilities], model: str, config: Mapping[str, Any], about: Sequence[str] = ()
) -> NoisyExamplesStudy:
    """Compute the effect of the noise.

    Args:
        measured: at least one, all of one length.
    """
    unchanged = np.array([probabilities.as_it_is for probabilities in measured])
    table, verdicts = [], []
    for arrangement in ARRANGEMENTS:
        replaced = np.zeros(unchanged.shape, dtype=np.bool_)
        for row, probabilities in zip(replaced, measured, strict=True):
            row[probabilities.sequence.replaced[arrangement]] = True
        after = np.logical_or.accumulate(replaced, axis=1) & ~replaced
        next_after = after & np.roll(replaced, 1, axis=1)
        changes: dict[str, Floats] = {}
        effects: dict[str, Mean] = {}
        for content in CONTENTS:
            noisy = np.array([probabilities.noisy[arrangement, content] for probabilities in measured])
            changes[content] = (noisy - unchanged).mean(axis=1, where=after)
            effect = effects[content] = _mean(changes[content])
            own, later = (float(noisy.mean(axis=1, where=places).mean()) for places in (replaced, after))
            change_of_next = float((noisy - unchanged).mean(axis=1, where=next_after).mean())
            table.append(NoiseEffect(f"{content}, {arrangement}", own, later, effect, change_of_next))
        verdicts.append(
            f"{_WORDS[arrangement].capitalize()}, incorrect examples change the probability of later ones by"
            f" {signed(effects['incorrect'])}, unknown ones by {signed(effects['unknown'])}:"
            f" {_comparison(_mean(changes['unknown'] - changes['incorrect']))}."
        )
    sequences, length = unchanged.shape
    quarter = length // 4
    return NoisyExamplesStudy(
        verdict=" ".join(verdicts),
        title=f"Unknown and incorrect examples · {model} · {sequences:,} sequences of {length} examples",
        data=_data(measured),
        table=table,
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


def _data(measured: Sequence[NoisyProbabilities]) -> list[ExampleProbability]:
    rows = []
    for number, probabilities in enumerate(measured):
        sequence = probabilities.sequence
        variants = {(AS_IT_IS, "right"): probabilities.as_it_is, **probabilities.noisy}
        for (arrangement, content), values in variants.items():
            replaced = set(sequence.replaced.get(arrangement, ()))
            for place, value in enumerate(values):
                about = (number, sequence.relation, arrangement, content, place + 1, place in replaced)
                rows.append(ExampleProbability(*about, float(value)))
    return rows


def _line(name: str, rows: pd.DataFrame, each: int = 1, points: bool = False) -> Line:
    """Return mean probabilities by position, so many positions in one point."""
    means = rows["probability"].groupby((rows["position"] - 1) // each).mean()
    return Line(name, (means.index * each + (each + 1) / 2).tolist(), means.tolist(), points=points)


def _every_position(title: str, rows: pd.DataFrame) -> Plot:
    """Return the probability at every position of one variant, and the mean of the right examples."""
    replaced = rows["replaced"]
    next_after = replaced.groupby(rows["sequence"]).shift(fill_value=False) & ~replaced
    right = rows.loc[~replaced, "probability"]
    mean = Line(f"mean of the right ones: {right.mean():.3f}", [1, int(rows["position"].max())], [right.mean()] * 2)
    groups = {"right": ~replaced & ~next_after, "right after a replaced one": next_after, "replaced": replaced}
    lines = [_line(name, rows[places], points=True) for name, places in groups.items() if places.any()]
    return Plot(title, "position", "probability of the object", [*lines, mean])
