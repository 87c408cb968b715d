"""False verdicts on rings of controls by the draw of their facts: without answers, or matched in the base model's.

Synthetic pairs of models. A fact has a rate: the probability that the base model answers a question about it right.
Fine-tuning decides a share of the answers again, with the same rates, so that nothing is lost, or it also forgets the
same share of all facts. Facts are drawn from the candidates of rings that the base model knows differently well:

- *no answers*: matched in popularity, as `kgprobe sample controls` does.
- *same answers*: matched in the base model's answers from which the loss is measured.
- *other answers*: matched in its answers to other questions about the facts.

A family errs if any ring is called *lost* with a true loss within the margin, or *kept* with one just above. The true
loss is that of the candidates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report, Row, show, versions_of
from benchmarks.rings import verdicts
from kgprobe.cli.options import json_option, seed_option
from kgprobe.labelling.matching import match_rings
from kgprobe.labelling.rings import ControlCandidate
from kgprobe.sampling.keys import FactKey

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DRAWS = ("no answers", "same answers", "other answers")
# Loss of every fact, and margin.
TRUTHS = ((0.0, 0.02), (0.05, 0.05))
# Share of the answers that fine-tuning decides again.
_AGAIN = 0.3
_RELATIONS = 12
# Lower rates could not lose 5 points.
_RATES = 0.06, 0.98
_KEYS = [FactKey("", str(place)) for place in range(6_000)]


def _equal(generator: np.random.Generator, mean: float, popularity: Floats) -> Floats:
    """Return the same rate for all facts."""
    del generator
    return np.full(len(popularity), mean)


def _varied(generator: np.random.Generator, mean: float, popularity: Floats) -> Floats:
    return generator.beta(8 * mean, 8 * (1 - mean), len(popularity))


def _skewed(generator: np.random.Generator, mean: float, popularity: Floats) -> Floats:
    """Return rates of which most are near 0 or 1."""
    return generator.beta(mean, 1 - mean, len(popularity))


def _by_popularity(generator: np.random.Generator, mean: float, popularity: Floats) -> Floats:
    """Return rates that grow with popularity."""
    del generator
    odds = mean / (1 - mean) * np.exp(popularity - popularity.mean())
    rates: Floats = odds / (1 + odds)
    return rates


@dataclass(frozen=True, slots=True)
class Design:
    """Rings of candidates.

    Attributes:
        means: mean rate of each ring.
        rates: draws the rates of a ring's facts.
        candidates: number of candidates in each ring.
        limit: maximum number of drawn facts in each ring.
        questions_agree: True if all questions about a fact have the same answer; fine-tuning changes it for the fact.
        shift: rate that half of the relations gain and the other half loses, or as much as their rates allow.
    """

    name: str
    means: Sequence[float]
    rates: Callable[[np.random.Generator, float, Floats], Floats]
    candidates: int = 2_000
    limit: int = 500
    questions_agree: bool = False
    shift: float = 0.0


DESIGNS = (
    Design("rates equal in a ring", (0.75, 0.5), _equal),
    Design("rates of 0.06 to 0.98", (0.85, 0.5), _varied, candidates=6_000, limit=2_000),
    Design("most rates near 0 or 1", (0.7, 0.4), _skewed),
    Design("three rings", (0.9, 0.6, 0.3), _varied),
    Design("nearly all known, few known", (0.95, 0.25), _varied),
    Design("rates by popularity", (0.8, 0.5), _by_popularity),
    Design("few facts", (0.8, 0.5), _varied, candidates=120, limit=60),
    Design("relations gain or lose 20 points", (0.7, 0.4), _varied, shift=0.2),
    Design("all questions about a fact agree", (0.8, 0.5), _equal, questions_agree=True),
)


@dataclass(frozen=True, slots=True)
class _Ring:
    """The candidates of a ring, in random order: popularity, answers of the base model, rates of the tuned one."""

    popularity: Floats
    base: Bools
    other: Bools
    again: Floats
    rates: Floats

    @classmethod
    def drawn(cls, generator: np.random.Generator, design: Design, mean: float, level: float) -> "_Ring":
        """Draw a ring; ``level`` is its mean popularity."""
        size = design.candidates
        popularity = generator.normal(level, 1, size)
        rates = design.rates(generator, mean, popularity).clip(*_RATES)
        base, other = generator.random((2, size)) < rates
        signs = np.where(generator.permutation(np.arange(size) % _RELATIONS) % 2, 1, -1)
        again = rates + signs * np.minimum(design.shift, np.minimum(rates, 1 - rates))
        return cls(popularity, base, base if design.questions_agree else other, again, rates)

    def matched_by(self, draw: str) -> Floats:
        """Return the values in which a draw is matched."""
        if draw == "no answers":
            return self.popularity
        return (self.base if draw == "same answers" else self.other).astype(np.float64)

    def tuned(self, generator: np.random.Generator, loss: float) -> Bools:
        """Return answers of the tuned model; each fact has lost the same on average."""
        size = len(self.base)
        decided = generator.random(size) < self.again
        after = np.where(generator.random(size) < _AGAIN, decided, self.base)
        kept: Bools = after & (generator.random(size) >= loss / self.rates)
        return kept


def _places(rings: Sequence[_Ring], draw: str, limit: int) -> list[NDArray[np.int64]]:
    """Return the places of the drawn candidates of each ring."""
    candidates = {}
    for number, ring in enumerate(rings):
        candidates[str(number)] = list(map(ControlCandidate, _KEYS, ring.matched_by(draw).tolist()))
    drawn = match_rings(candidates, limit).drawn.values()
    return [np.array([int(candidate.key.fact) for candidate in own]) for own in drawn]


def simulate(design: Design, draws: Sequence[str], times: int, seed: int) -> Iterator[Row]:
    """Yield the shares of families with a false verdict, for each truth and draw."""
    generator = np.random.default_rng(seed)
    # Lost and gained facts and all facts, by truth, draw, family and ring.
    counts = np.zeros((len(TRUTHS), len(draws), times, len(design.means), 3), np.int64)
    for family in range(times):
        rings = [_Ring.drawn(generator, design, mean, 4 + place / 2) for place, mean in enumerate(design.means)]
        places = [_places(rings, draw, design.limit) for draw in draws]
        for truth, (loss, _) in enumerate(TRUTHS):
            for number, ring in enumerate(rings):
                after = ring.tuned(generator, loss)
                for draw, drawn in enumerate(places):
                    was, now = ring.base[drawn[number]], after[drawn[number]]
                    counts[truth, draw, family, number] = (was & ~now).sum(), (now & ~was).sum(), len(was)
    for (loss, margin), of_truth in zip(TRUTHS, counts, strict=True):
        case = f"{design.name}, {100 * loss:g} points lost, margin {100 * margin:g}"
        for name, own in zip(draws, of_truth, strict=True):
            called = verdicts(own[..., 0], own[..., 1], own[..., 2], margin)
            for word, sign in (("lost", 1), ("kept", -1)):
                if word == "lost" or loss >= margin:
                    false = float((called == sign).any(axis=1).mean())
                    yield Row(case, f"any ring falsely {word}, drawn by {name}", 100 * false, "%", less_is_better=True)


def measure(times: int, seed: int, draws: Sequence[str] = DRAWS, designs: Sequence[Design] = DESIGNS) -> list[Row]:
    """Return the shares of false verdicts in all designs."""
    rows: list[Row] = []
    for number, design in enumerate(designs):
        rows += simulate(design, draws, times, seed + number)
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option("--families", "times", default=1_000, show_default=True, help="Simulated families in each design.")
@click.option("--draw", "draws", multiple=True, type=click.Choice(DRAWS), default=DRAWS, help="Draws of facts.")
@seed_option
@json_option
def main(times: int, draws: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Measure false verdicts on rings whose facts are drawn with and without the base model's answers."""
    show(Report("controls", measure(times, seed, draws), seed, versions_of("numpy", "scipy")), as_json=as_json)


if __name__ == "__main__":
    main()
