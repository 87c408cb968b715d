"""Number of cloze sentences: the measure on random subsets of a fact's sentences.

Appendix C of the distractor paper; docs/methods/studies.md. For each number m, subsets of m sentences are drawn for
every fact. The mean over the subset is compared with the mean over all of the fact's sentences.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
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

# Number of subsets of each size per fact.
_DRAWS = 50

# τ with all sentences above which fewer are enough.
ENOUGH = 0.9


def sentences_study(
    outcomes: Iterable[Outcome], count: int, model: str, config: Mapping[str, Any], seed: int = 0
) -> Study:
    """Compute the measure by the number of cloze sentences.

    Args:
        outcomes: of a measurement with all sentences.
        count: n, of Min@n and Avg@n.
        seed: of the subsets.

    Raises:
        KgprobeError: all facts have fewer than two sentences.
    """
    by_sentence = _by_sentence(outcomes, count)
    several = [values for values in by_sentence if len(values) > 1]
    if not several:
        raise KgprobeError("No fact was asked in two sentences or more, so there is nothing to choose from.")
    data = []
    most = max(len(values) for values in several)
    for m in range(1, most + 1):
        # Only facts with at least m sentences, so that subsets of the same facts are compared with all.
        enough = [values for values in several if len(values) >= m]
        data.append(_row(m, enough, np.random.default_rng([seed, m])))
    numbers = list(range(1, most + 1))
    lines = [Line(name, numbers, list(map(itemgetter(name), data))) for name in ("τ Min", "τ Avg")]
    return Study(
        name="sentences",
        verdict=_verdict(data),
        title=f"Min@{count} and Avg@{count} by the number of cloze sentences · {model} · {len(several):,} facts",
        data=data,
        table=data,
        plots=[Plot("Agreement with all sentences", "m, cloze sentences", "Kendall's τ with all sentences", lines)],
        notes=[
            f"Min and Avg are Min@{count} and Avg@{count}. τ: Kendall's, over facts, between the measure on m "
            f"random sentences and on all; the mean of {_DRAWS} draws. Spread: standard deviation of a fact's measure "
            "between draws.",
            f"{len(by_sentence) - len(several):,} facts have only one sentence and are left out.",
        ],
        config=config,
    )


def _verdict(data: Sequence[Mapping[str, Any]]) -> str:
    most = data[-1]["sentences"]
    needs = []
    for name in ("Min", "Avg"):
        enough = [row["sentences"] for row in data if row[f"τ {name}"] >= ENOUGH]
        needs.append(f"{name} needs {enough[0]}" if enough else f"{name} never reaches it")
    return f"Sentences needed for the order of the facts with all, at most {most} (τ ≥ {ENOUGH}): {', '.join(needs)}."


def _by_sentence(outcomes: Iterable[Outcome], count: int) -> list[Floats]:
    """Return Min@n and Avg@n of each sentence, shape (sentences, 2), for each asked fact."""
    by_fact = []
    for outcome in outcomes:
        evidence = outcome.evidence
        if isinstance(evidence, DistractorEvidence):
            by_fact.append(np.stack([evidence.min_at_n(count)[:, -1], evidence.avg_at_n(count)[:, -1]], axis=1))
    return by_fact


def _row(m: int, facts: Sequence[Floats], generator: np.random.Generator) -> dict[str, Any]:
    # Shape (draws, facts, 2).
    drawn = np.array([_draw_means(facts, m, generator) for _ in range(_DRAWS)])
    whole = np.array([values.mean(axis=0) for values in facts])
    row: dict[str, Any] = {"sentences": m, "facts": len(facts)}
    for place, name in enumerate(("Min", "Avg")):
        taus = [stats.kendalltau(draw[:, place], whole[:, place]).statistic for draw in drawn]
        row[f"τ {name}"] = float(np.mean(taus))
        row[f"mean {name}"] = float(drawn[:, :, place].mean())
        row[f"spread {name}"] = float(drawn[:, :, place].std(axis=0).mean())
    return row


def _draw_means(facts: Sequence[Floats], m: int, generator: np.random.Generator) -> list[Floats]:
    """Return each fact's mean over m random sentences."""
    return [values[generator.permutation(len(values))[:m]].mean(axis=0) for values in facts]
