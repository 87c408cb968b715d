"""Effect of unknown and incorrect examples on later ones: the probability of the objects by position.

Section 3 and appendix E of the latent-knowledge paper (its figure 2); docs/methods/studies.md. The model scores each
sequence of examples five times: unchanged, and with unknown or incorrect examples, spread or in one block. The effect
on an example that is not replaced is its probability less that in the unchanged sequence. Sequences are the units:
intervals are Student's t over their means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.models.scoring.contract import TextScorer
from kgprobe.models.scoring.sentences import score_spans
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.examples.prompts import Layout
from kgprobe.report.plots import Line, Plot
from kgprobe.stats.proportions import CONFIDENCE, Mean
from kgprobe.studies.noisy_examples import ARRANGEMENTS, CONTENTS, ExamplePair, NoisySequence
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]

# Number of positions per point of the plots.
_BIN = 10
AS_IT_IS = "as it is"
VARIANTS = tuple(product(ARRANGEMENTS, CONTENTS))


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

    def after(self, arrangement: str) -> NDArray[np.int64]:
        """Return the places of unreplaced examples after the first replaced one."""
        replaced = self.sequence.replaced[arrangement]
        return np.setdiff1d(np.arange(replaced[0], len(self.as_it_is)), replaced)

    def next_after(self, arrangement: str) -> NDArray[np.int64]:
        """Return the places of unreplaced examples right after a replaced one."""
        replaced = self.sequence.replaced[arrangement]
        return np.intersect1d(self.after(arrangement), replaced + 1)


def measure_noise(scorer: TextScorer, sequence: NoisySequence, layout: Layout) -> NoisyProbabilities | str:
    """Return the probabilities of a sequence's objects in all five variants, or the reason why the model rejects it.

    Cost: one pass over the tokens of each variant.
    """
    variants: dict[tuple[str, str] | None, Sequence[ExamplePair]] = {None: sequence.right}
    variants |= {variant: sequence.with_noise(*variant) for variant in VARIANTS}
    probabilities = {}
    for variant, pairs in variants.items():
        text, spans = _written(pairs, layout)
        scored = score_spans(scorer, text, spans)
        if scored.reasons:
            return next(iter(scored.reasons.values()))
        probabilities[variant] = np.exp(scored.values)
    return NoisyProbabilities(sequence, probabilities[None], {variant: probabilities[variant] for variant in VARIANTS})


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
    found: Sequence[NoisyProbabilities], model: str, config: Mapping[str, Any], about: Sequence[str] = ()
) -> Study:
    """Compute the effect of the noise.

    Args:
        found: at least one, all of one length.
        about: notes on the sequences.
    """
    effects = {}
    table = []
    for arrangement, content in VARIANTS:
        replaced, after, changes, next_changes = [], [], [], []
        for probabilities in found:
            noisy = probabilities.noisy[arrangement, content]
            replaced.append(noisy[probabilities.sequence.replaced[arrangement]].mean())
            after.append(noisy[probabilities.after(arrangement)].mean())
            changes.append(_effect(probabilities, arrangement, content, probabilities.after(arrangement)))
            next_changes.append(_effect(probabilities, arrangement, content, probabilities.next_after(arrangement)))
        effect = effects[arrangement, content] = _mean(changes)
        table.append(
            {
                "replaced": f"{content}, {arrangement}",
                "their own probability": float(np.mean(replaced)),
                "of those after": float(np.mean(after)),
                "change": effect.value,
                "low": effect.low,
                "high": effect.high,
                "change of the next": float(np.mean(next_changes)),
            }
        )
    length = len(found[0].as_it_is)
    unchanged = np.array([probabilities.as_it_is for probabilities in found])
    quarter = length // 4
    return Study(
        name="noisy-examples",
        verdict=_verdict(found, effects),
        title=f"Unknown and incorrect examples · {model} · {len(found):,} sequences of {length} examples",
        data=_data(found),
        table=table,
        plots=[_plot(found, arrangement) for arrangement in ARRANGEMENTS],
        notes=[
            *about,
            "change is the probability of the examples after a replaced one, less that of the same examples where none"
            f" is replaced; its {CONFIDENCE:.0%} interval is Student's t over sequences.",
            f"Mean probability in unchanged sequences: {_mean_of_rows(unchanged):.3f};"
            f" {_mean_of_rows(unchanged[:, :quarter]):.3f} in the first quarter,"
            f" {_mean_of_rows(unchanged[:, -quarter:]):.3f} in the last.",
        ],
        config=config,
    )


def _mean_of_rows(values: Floats) -> float:
    return float(np.mean([row.mean() for row in values]))


def _effect(probabilities: NoisyProbabilities, arrangement: str, content: str, places: NDArray[np.int64]) -> float:
    return float((probabilities.noisy[arrangement, content][places] - probabilities.as_it_is[places]).mean())


def _mean(values: Sequence[float]) -> Mean:
    mean = float(np.mean(values))
    if len(values) == 1:
        return Mean(mean, None, None)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * stats.sem(values))
    return Mean(mean, mean - reach, mean + reach)


def _verdict(found: Sequence[NoisyProbabilities], effects: Mapping[tuple[str, str], Mean]) -> str:
    sentences = []
    for arrangement, words in zip(ARRANGEMENTS, ("Spread", "In a block"), strict=True):
        differences = []
        for probabilities in found:
            places = probabilities.after(arrangement)
            unknown, incorrect = (_effect(probabilities, arrangement, content, places) for content in CONTENTS)
            differences.append(unknown - incorrect)
        more = _mean(differences)
        if more.low is None or more.high is None:
            comparison = "a single sequence shows little"
        elif more.low > 0:
            comparison = "incorrect ones surely lower it more"
        elif more.high < 0:
            comparison = "unknown ones surely lower it more"
        else:
            comparison = "neither surely lowers it more"
        sentences.append(
            f"{words}, incorrect examples change the probability of later ones by"
            f" {_signed(effects[arrangement, 'incorrect'])}, unknown ones by"
            f" {_signed(effects[arrangement, 'unknown'])}: {comparison}."
        )
    return " ".join(sentences)


def _signed(mean: Mean) -> str:
    return f"{mean.value:+.3f}" + ("" if mean.low is None else f" [{mean.low:+.3f}, {mean.high:+.3f}]")


def _data(found: Sequence[NoisyProbabilities]) -> list[dict[str, Any]]:
    rows = []
    for number, probabilities in enumerate(found):
        variants = {(AS_IT_IS, "right"): probabilities.as_it_is, **probabilities.noisy}
        for (arrangement, content), values in variants.items():
            replaced = set(probabilities.sequence.replaced.get(arrangement, ()))
            for place, value in enumerate(values.tolist()):
                rows.append(
                    {
                        "sequence": number,
                        "relation": probabilities.sequence.relation,
                        "arrangement": arrangement,
                        "content": content,
                        "position": place + 1,
                        "replaced": place in replaced,
                        "probability": value,
                    }
                )
    return rows


def _plot(found: Sequence[NoisyProbabilities], arrangement: str) -> Plot:
    everywhere = np.arange(len(found[0].as_it_is))
    lines = [_line("none replaced", [(everywhere, probabilities.as_it_is) for probabilities in found])]
    for content in CONTENTS:
        own, others = [], []
        for probabilities in found:
            replaced, values = probabilities.sequence.replaced[arrangement], probabilities.noisy[arrangement, content]
            own.append((replaced, values))
            others.append((np.setdiff1d(everywhere, replaced), values))
        lines.append(_line(f"right ones, {content} among them", others))
        lines.append(_line(content, own, points=True))
    title = "Replaced examples spread" if arrangement == "spread" else "Replaced examples in a block"
    return Plot(title, f"position, {_BIN} together", "mean probability of the object", lines, y_range=None)


def _line(name: str, values: Sequence[tuple[NDArray[np.int64], Floats]], points: bool = False) -> Line:
    """Return means over some places of sequences, the places in bins."""
    places = np.concatenate([chosen for chosen, _ in values]) // _BIN
    numbers = np.concatenate([probabilities[chosen] for chosen, probabilities in values])
    bins = np.unique(places)
    middles = (bins * _BIN + (_BIN + 1) / 2).tolist()
    return Line(name, middles, [float(numbers[places == bin_].mean()) for bin_ in bins], points=points)
