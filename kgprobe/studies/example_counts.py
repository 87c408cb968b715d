"""How many examples are enough: accuracy by their number, over several draws of them.

Section 3 of the latent-knowledge paper (its figure 1); docs/methods/studies.md. Facts and choices are the same
throughout; what differs are the examples: how many, and which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.report.plots import Line, Plot
from kgprobe.stats.proportions import CONFIDENCE
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]

# Of the accuracy with the most examples: the least number that reaches so much is enough.
ENOUGH = 0.95
_REPLICATES = 1_000


@dataclass(frozen=True, slots=True)
class Draw:
    """What one measurement found: one number of examples, one seed of them.

    Attributes:
        outcomes: by the fact's id.
    """

    count: int
    seed: int
    outcomes: Mapping[str, Outcome]

    def full(self) -> set[str]:
        """The facts that were answered after as many examples as were asked for."""
        return {
            fact
            for fact, outcome in self.outcomes.items()
            if isinstance(outcome.evidence, ExampleEvidence) and outcome.evidence.examples == self.count
        }


def example_counts_study(draws: Sequence[Draw], model: str, config: Mapping[str, Any], seed: int = 0) -> Study:
    """Accuracy by the number of examples.

    Args:
        draws: one for each number of examples and seed.
        model: what was asked.
        config: what the measurements depend on.
        seed: of the bootstrap.

    Raises:
        KgprobeError: no fact was asked with all of them.
    """
    counts = sorted({draw.count for draw in draws})
    seeds = sorted({draw.seed for draw in draws})
    common = sorted(set.intersection(*(draw.full() for draw in draws)))
    if not common:
        raise KgprobeError(
            f"No fact was asked after each of {', '.join(map(str, counts))} examples: {_most(draws)} is the most that a"
            " relation, or the model's context, has for one. Fewer can be asked for: `counts`."
        )
    # Shape (seeds, facts, counts).
    right = np.zeros((len(seeds), len(common), len(counts)))
    sure = np.zeros_like(right)
    for draw in draws:
        place = (seeds.index(draw.seed), slice(None), counts.index(draw.count))
        evidences = [_evidence(draw.outcomes[fact]) for fact in common]
        right[place] = [evidence.is_right for evidence in evidences]
        sure[place] = [evidence.probability for evidence in evidences]
    curve = mean_curve(right.mean(axis=0), seed)
    by_draw = right.mean(axis=1)
    data = [
        {
            "examples": count,
            "seed": one,
            "accuracy": float(by_draw[row, column]),
            "confidence": float(sure[row, :, column].mean()),
        }
        for column, count in enumerate(counts)
        for row, one in enumerate(seeds)
    ]
    table = [
        {
            "examples": count,
            "accuracy": (at := mean_at(curve, column + 1)).value,
            "low": at.low,
            "high": at.high,
            "sd over draws": float(by_draw[:, column].std(ddof=1)) if len(seeds) > 1 else None,
            "confidence": float(sure[:, :, column].mean()),
        }
        for column, count in enumerate(counts)
    ]
    enough = counts[_first_enough(curve.mean)]
    low, high = _enough_interval(right, counts, seed)
    lines = [
        Line(
            "mean of the draws",
            counts,
            curve.mean.tolist(),
            *(() if np.isnan(curve.low).any() else (curve.low.tolist(), curve.high.tolist())),
        ),
        *(Line(f"draw {one}", counts, by_draw[row].tolist(), points=True) for row, one in enumerate(seeds)),
    ]
    reach = "" if low is None else f" [{low}, {high}]"
    return Study(
        name="examples",
        verdict=f"{enough}{reach} examples reach {ENOUGH:.0%} of the accuracy after {counts[-1]}, which is"
        f" {mean_at(curve, len(counts))}; after {counts[0]} it is {mean_at(curve, 1)}.",
        title=f"Accuracy by number of examples · {model} · {len(common):,} facts, {len(seeds)} draws of examples",
        data=data,
        table=table,
        plots=[Plot("By number of examples", "examples", "accuracy", lines, log_x=len(counts) > 2)],
        notes=_notes(draws, common, by_draw, seeds),
        config=config,
    )


def _most(draws: Sequence[Draw]) -> int:
    counts = [
        outcome.evidence.examples
        for draw in draws
        for outcome in draw.outcomes.values()
        if isinstance(outcome.evidence, ExampleEvidence)
    ]
    return max(counts, default=0)


def _evidence(outcome: Outcome) -> ExampleEvidence:
    assert isinstance(outcome.evidence, ExampleEvidence)  # noqa: S101
    return outcome.evidence


def _first_enough(means: Floats) -> int:
    """The place of the first number whose accuracy is enough."""
    return int(np.argmax(means >= ENOUGH * means[-1]))


def _enough_interval(right: Floats, counts: Sequence[int], seed: int) -> tuple[int | None, int | None]:
    """The 95% percentile interval of the smallest number that is enough, facts and draws drawn anew."""
    seeds, facts, _ = right.shape
    if facts == 1:
        return None, None
    generator = np.random.default_rng(seed)
    places = []
    for _ in range(_REPLICATES):
        draws = generator.multinomial(seeds, np.full(seeds, 1 / seeds)) / seeds
        weights = generator.multinomial(facts, np.full(facts, 1 / facts)) / facts
        places.append(_first_enough(np.einsum("s,f,sfc->c", draws, weights, right)))
    low, high = np.quantile(places, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="closest_observation")
    return counts[int(low)], counts[int(high)]


def _notes(draws: Sequence[Draw], common: Sequence[str], by_draw: Floats, seeds: Sequence[int]) -> list[str]:
    notes = [
        "Facts and their choices are the same throughout; a draw is another choice of examples, and fewer of them are"
        " the first of more.",
        f"The interval of the number that is enough is a bootstrap's over facts and draws; {len(seeds)} draws say"
        " little of how draws differ."
        if len(seeds) < 5
        else "The interval of the number that is enough is a bootstrap's over facts and draws.",
    ]
    asked = set().union(*(draw.outcomes for draw in draws))
    if left := len(asked) - len(common):
        notes.append(
            f"{left:,} of {len(asked):,} facts are left out: there were fewer examples for them than asked for, or none"
            " of their choices could be asked."
        )
    if len(seeds) > 1:
        spread = by_draw.std(axis=0, ddof=1)
        notes.append(
            f"Accuracy differs between draws by {spread[0]:.3f} (standard deviation) after the fewest examples, by"
            f" {spread[-1]:.3f} after the most."
        )
    return notes
