r"""The demo model on the example graph, asked all of it: a reference for replays that comes with kgprobe.

docs/methods/sampling-study.md. ``demo_reference.parquet`` has every fact of the example graph that can be
asked, with how often the demo model (Gemma 3 270M) answered it right and wrong, 8 or 9 times, and in its metadata what
the run was: model, weights, sentences, seed, date. It was made, in 43 minutes on one core, by::

    kgprobe load example
    kgprobe rounds run distractors --model demo --sampling sequential --learner independent \
        --rounds 64 --facts-per-round 320 --as-of 2026-11-23
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import optimize, special

from kgprobe.beliefs.reference import Reference, reference_of

ABOUT = (
    "The facts of the example graph and the demo model: θ of each is drawn, anew for each repetition, from what 8 or 9"
    " answers to one cloze sentence, drawn at random, with ten random distractors, leave open."
)


def demo_reference(seed: Sequence[int]) -> Reference:
    """A reference as the demo model's answers have it.

    Eight answers say little of a single theta: of facts that were never answered wrong, some are wrong once in ten
    times. So theta is drawn from Beta(a + wrong, b + right), with the a and b that make all answers most probable (the
    beta-binomial's), and is as different from fact to fact as it is for the model.

    Args:
        seed: of theta.
    """
    columns = _columns()
    right, wrong = (np.array(columns[name], np.float64) for name in ("right", "wrong"))
    generator = np.random.default_rng([*seed, 0])
    a, b = _prior(right, wrong)
    theta = generator.beta(a + wrong, b + right)
    return reference_of(columns["subject"], columns["relation"], columns["object"], theta)


def facts_of_demo() -> list[str]:
    """The ids of the reference's facts, in its order."""
    facts: list[str] = _columns()["fact"]
    return facts


def _columns() -> dict[str, list[Any]]:
    with files("kgprobe.studies").joinpath("demo_reference.parquet").open("rb") as file:
        columns: dict[str, list[Any]] = pq.read_table(file).to_pydict()
    return columns


def _prior(right: NDArray[np.float64], wrong: NDArray[np.float64]) -> tuple[float, float]:
    """The most probable parameters of theta's Beta distribution."""

    def cost(logs: NDArray[np.float64]) -> float:
        a, b = np.exp(logs)
        return -float((special.betaln(a + wrong, b + right) - special.betaln(a, b)).sum())

    found = optimize.minimize(cost, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6})
    a, b = np.exp(found.x).tolist()
    return a, b
