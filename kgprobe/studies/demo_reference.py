r"""The shipped reference for replays: answers of the demo model to all facts of the example graph.

docs/methods/sampling-study.md. ``demo_reference.parquet`` has every fact of the example graph that can be asked, with
the numbers of right and wrong answers of the demo model (Gemma 3 270M), 8 or 9 in total. Its metadata describe the run:
model, weights, sentences, seed, date. The run took 43 minutes on one core::

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
    "The facts of the example graph and the demo model. For each repetition, θ of each fact is drawn from its posterior"
    " given 8 or 9 answers, each to a random cloze sentence with ten random distractors."
)


def demo_reference(seed: Sequence[int]) -> Reference:
    """Return a reference whose theta is drawn from its posterior given the demo model's answers.

    Eight answers leave a single theta uncertain: a fact without wrong answers may be wrong once in ten times. Theta is
    drawn from Beta(a + wrong, b + right), where a and b maximize the beta-binomial likelihood of all answers. The drawn
    values vary between facts as much as the model's do.

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
    """Return the ids of the reference's facts, in its order."""
    facts: list[str] = _columns()["fact"]
    return facts


def _columns() -> dict[str, list[Any]]:
    with files("kgprobe.studies").joinpath("demo_reference.parquet").open("rb") as file:
        columns: dict[str, list[Any]] = pq.read_table(file).to_pydict()
    return columns


def _prior(right: NDArray[np.float64], wrong: NDArray[np.float64]) -> tuple[float, float]:
    """Return the maximum-likelihood parameters of theta's Beta distribution."""

    def cost(logs: NDArray[np.float64]) -> float:
        a, b = np.exp(logs)
        return -float((special.betaln(a + wrong, b + right) - special.betaln(a, b)).sum())

    optimum = optimize.minimize(cost, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6})
    a, b = np.exp(optimum.x).tolist()
    return a, b
