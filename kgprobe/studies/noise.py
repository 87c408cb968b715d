"""What unknown and incorrect examples do to those that follow: the objects' probability by position.

Section 3 and appendix E of the latent-knowledge paper (its figure 2); docs/methods/studies.md. Each sequence of
examples is given to the model five times: as it is; with unknown and with incorrect examples in it, spread or in one
block. An example that is not replaced has a probability in each, and its difference from that in the sequence as it
is tells what the noise before it did. Sequences are the units: intervals are Student's t over their means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from kgprobe.studies.noisy_examples import ARRANGEMENTS, CONTENTS, NoisySequence, Pair
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]

# Positions that a point of the plots is the mean of.
_BIN = 10
AS_IT_IS = "as it is"


@dataclass(frozen=True, slots=True)
class NoisyProbabilities:
    """What a model makes of one sequence.

    Attributes:
        sequence: that was given.
        as_it_is: of each example's object given all before it, shape (examples,).
        noisy: the same by arrangement and content.
    """

    sequence: NoisySequence
    as_it_is: Floats
    noisy: Mapping[tuple[str, str], Floats]

    def after(self, arrangement: str) -> NDArray[np.int64]:
        """The places of the examples that are not replaced and have one that is before them."""
        replaced = self.sequence.replaced[arrangement]
        return np.setdiff1d(np.arange(replaced[0], len(self.as_it_is)), replaced)

    def next_after(self, arrangement: str) -> NDArray[np.int64]:
        """Those of them whose neighbour before is replaced."""
        replaced = self.sequence.replaced[arrangement]
        return np.intersect1d(self.after(arrangement), replaced + 1)


def measure_noise(scorer: TextScorer, sequence: NoisySequence, layout: Layout) -> NoisyProbabilities | str:
    """The probability of every object of a sequence, in all five ways; or why the model cannot take it.

    Cost: one pass over the tokens of each of the five.
    """
    ways = {None: sequence.right} | {
        (arrangement, content): sequence.with_noise(arrangement, content)
        for arrangement in ARRANGEMENTS
        for content in CONTENTS
    }
    found = {}
    for way, pairs in ways.items():
        text, spans = _written(pairs, layout)
        scored = score_spans(scorer, text, spans)
        if scored.reasons:
            return next(iter(scored.reasons.values()))
        found[way] = np.exp(scored.values)
    return NoisyProbabilities(sequence, found[None], {way: its for way, its in found.items() if way is not None})


def _written(pairs: Sequence[Pair], layout: Layout) -> tuple[str, list[tuple[int, int]]]:
    """Examples one after the other, and where their objects stand, with what separates each from its subject."""
    text = ""
    spans = []
    for pair in pairs:
        before = layout.after(text, pair.subject)
        text = join(before, layout.separator, pair.object)
        # As in the probe: what a model is given ends with the subject.
        spans.append((len(before), len(text)))
    return text, spans


def noise_study(
    found: Sequence[NoisyProbabilities], model: str, config: Mapping[str, Any], about: Sequence[str] = ()
) -> Study:
    """What the noise does.

    Args:
        found: at least one, of one length.
        model: what was asked.
        config: what the numbers depend on.
        about: what is to be said of the sequences, in sentences.
    """
    effects = {
        (arrangement, content): _mean([_effect(one, arrangement, content, one.after(arrangement)) for one in found])
        for arrangement in ARRANGEMENTS
        for content in CONTENTS
    }
    table = [
        {
            "replaced": f"{content}, {arrangement}",
            "their own probability": float(
                np.mean([one.noisy[arrangement, content][one.sequence.replaced[arrangement]].mean() for one in found])
            ),
            "of those after": float(
                np.mean([one.noisy[arrangement, content][one.after(arrangement)].mean() for one in found])
            ),
            "change": effect.value,
            "low": effect.low,
            "high": effect.high,
            "change of the next": _mean(
                [_effect(one, arrangement, content, one.next_after(arrangement)) for one in found]
            ).value,
        }
        for (arrangement, content), effect in effects.items()
    ]
    length = len(found[0].as_it_is)
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
            f"In sequences as they are, the mean probability is {np.mean([one.as_it_is.mean() for one in found]):.3f}:"
            f" {np.mean([one.as_it_is[: length // 4].mean() for one in found]):.3f} in the first quarter,"
            f" {np.mean([one.as_it_is[-(length // 4) :].mean() for one in found]):.3f} in the last.",
        ],
        config=config,
    )


def _effect(one: NoisyProbabilities, arrangement: str, content: str, places: NDArray[np.int64]) -> float:
    return float((one.noisy[arrangement, content][places] - one.as_it_is[places]).mean())


def _mean(values: Sequence[float]) -> Mean:
    mean = float(np.mean(values))
    if len(values) == 1:
        return Mean(mean, None, None)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * stats.sem(values))
    return Mean(mean, mean - reach, mean + reach)


def _verdict(found: Sequence[NoisyProbabilities], effects: Mapping[tuple[str, str], Mean]) -> str:
    told = []
    for arrangement in ARRANGEMENTS:
        unknown, incorrect = (effects[arrangement, content] for content in CONTENTS)
        more = _mean(
            [
                _effect(one, arrangement, "unknown", one.after(arrangement))
                - _effect(one, arrangement, "incorrect", one.after(arrangement))
                for one in found
            ]
        )
        if more.low is None or more.high is None:
            which = "of one sequence, that says little"
        elif more.low > 0:
            which = "incorrect ones surely lower it more"
        elif more.high < 0:
            which = "unknown ones surely lower it more"
        else:
            which = "neither surely lowers it more"
        where = "Spread" if arrangement == "spread" else "In a block"
        told.append(
            f"{where}, incorrect examples change the probability of what follows by {_signed(incorrect)}, unknown ones"
            f" by {_signed(unknown)}: {which}."
        )
    return " ".join(told)


def _signed(mean: Mean) -> str:
    return f"{mean.value:+.3f}" + ("" if mean.low is None else f" [{mean.low:+.3f}, {mean.high:+.3f}]")


def _data(found: Sequence[NoisyProbabilities]) -> list[dict[str, Any]]:
    rows = []
    for number, one in enumerate(found):
        ways = {(AS_IT_IS, "right"): one.as_it_is} | dict(one.noisy)
        for (arrangement, content), values in ways.items():
            replaced = set(one.sequence.replaced[arrangement].tolist()) if arrangement != AS_IT_IS else set()
            rows += [
                {
                    "sequence": number,
                    "relation": one.sequence.relation,
                    "arrangement": arrangement,
                    "content": content,
                    "position": place + 1,
                    "replaced": place in replaced,
                    "probability": float(value),
                }
                for place, value in enumerate(values)
            ]
    return rows


def _plot(found: Sequence[NoisyProbabilities], arrangement: str) -> Plot:
    lines = [_line("none replaced", [(np.arange(len(one.as_it_is)), one.as_it_is) for one in found])]
    for content in CONTENTS:
        its = [(one.sequence.replaced[arrangement], one.noisy[arrangement, content]) for one in found]
        others = [(np.setdiff1d(np.arange(len(values)), replaced), values) for replaced, values in its]
        lines.append(_line(f"right ones, {content} among them", others))
        lines.append(_line(content, its, points=True))
    title = "Replaced examples spread" if arrangement == "spread" else "Replaced examples in a block"
    return Plot(title, f"position, {_BIN} together", "mean probability of the object", lines, y_range=None)


def _line(name: str, values: Sequence[tuple[NDArray[np.int64], Floats]], points: bool = False) -> Line:
    """Means over some places of sequences, the places in bins."""
    places = np.concatenate([its for its, _ in values])
    numbers = np.concatenate([probabilities[its] for its, probabilities in values])
    bins = np.unique(places // _BIN)
    return Line(
        name,
        [float(one * _BIN + (_BIN + 1) / 2) for one in bins],
        [float(numbers[places // _BIN == one].mean()) for one in bins],
        points=points,
    )
