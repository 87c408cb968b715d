"""How many cloze sentences are enough: the measure over random subsets of a fact's sentences.

Appendix C of the distractor paper; docs/methods/studies.md. For each number m of sentences, subsets of m are drawn for
every fact; the mean over the subset is compared with the mean over all of the fact's sentences.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kgprobe.errors import KgprobeError
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome
from kgprobe.report.plots import Line, Plot
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]

# Subsets of each size that are drawn for every fact.
_DRAWS = 50

# From such a τ with all sentences on, fewer are enough.
ENOUGH = 0.9


def sentences_study(
    outcomes: Iterable[Outcome], count: int, model: str, config: Mapping[str, Any], seed: int = 0
) -> Study:
    """The measure by the number of cloze sentences.

    Args:
        outcomes: of a measurement with all sentences.
        count: n, of Min@n and Avg@n.
        model: what was asked.
        config: what the measurement depends on.
        seed: of the subsets.

    Raises:
        KgprobeError: no fact was asked in two sentences or more.
    """
    by_sentence = _by_sentence(outcomes, count)
    several = [values for values in by_sentence if len(values) > 1]
    if not several:
        raise KgprobeError("No fact was asked in two sentences or more, so there is nothing to choose from.")
    data = []
    most = max(len(values) for values in several)
    for m in range(1, most + 1):
        # Only facts that have so many sentences: what changes is their number, not which facts there are.
        enough = [values for values in several if len(values) >= m]
        data.append(_row(m, enough, np.random.default_rng([seed, m])))
    lines = [Line(name, [row["sentences"] for row in data], [row[name] for row in data]) for name in ("τ Min", "τ Avg")]
    return Study(
        name="sentences",
        verdict=_verdict(data),
        title=f"Min@{count} and Avg@{count} by the number of cloze sentences · {model} · {len(several):,} facts",
        data=data,
        table=data,
        plots=[Plot("Agreement with all sentences", "m, cloze sentences", "Kendall's τ with all sentences", lines)],
        notes=[
            f"Min and Avg stand for Min@{count} and Avg@{count}. τ: Kendall's, over facts, between the measure on m "
            f"random sentences and on all; the mean of {_DRAWS} draws. Spread: how much a fact's measure varies "
            "between draws, its standard deviation.",
            f"{len(by_sentence) - len(several):,} facts have one sentence only and are left out.",
        ],
        config=config,
    )


def _verdict(data: Sequence[Mapping[str, Any]]) -> str:
    most = data[-1]["sentences"]
    told = []
    for name in ("Min", "Avg"):
        enough = next((row["sentences"] for row in data if row[f"τ {name}"] >= ENOUGH), None)
        told.append(f"{name} takes {enough}" if enough else f"{name} never gets there")
    return f"For the order that all sentences, {most} at most, give to the facts (τ ≥ {ENOUGH}): {', '.join(told)}."


def _by_sentence(outcomes: Iterable[Outcome], count: int) -> list[Floats]:
    """Of each asked fact Min@n and Avg@n of each sentence, shape (sentences, 2)."""
    return [
        np.stack([evidence.min_at_n(count)[:, -1].astype(np.float64), evidence.avg_at_n(count)[:, -1]], axis=1)
        for evidence in (outcome.evidence for outcome in outcomes)
        if isinstance(evidence, DistractorEvidence)
    ]


def _row(m: int, facts: Sequence[Floats], generator: np.random.Generator) -> dict[str, Any]:
    # Shape (draws, facts, 2).
    drawn = np.array([[_mean_of_some(values, m, generator) for values in facts] for _ in range(_DRAWS)])
    whole = np.array([values.mean(axis=0) for values in facts])
    row: dict[str, Any] = {"sentences": m, "facts": len(facts)}
    for place, name in enumerate(("Min", "Avg")):
        taus = [stats.kendalltau(draw[:, place], whole[:, place]).statistic for draw in drawn]
        row[f"τ {name}"] = float(np.mean(taus))
        row[f"mean {name}"] = float(drawn[:, :, place].mean())
        row[f"spread {name}"] = float(drawn[:, :, place].std(axis=0).mean())
    return row


def _mean_of_some(values: Floats, m: int, generator: np.random.Generator) -> Floats:
    chosen: Floats = values[generator.permutation(len(values))[:m]].mean(axis=0)
    return chosen
