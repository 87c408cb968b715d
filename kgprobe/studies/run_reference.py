"""A run as a reference for replays: the difficulty of its facts by its own answers.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgprobe.beliefs.reference import Reference, reference_of
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.running.runs import get_run


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """A reference from a run's answers, with their numbers.

    Attributes:
        run: properties of the run.
        unaskable: number of facts without an answer; they are left out.
        least, mean: least and mean number of own answers per fact of the reference.
    """

    reference: Reference
    run: dict[str, Any]
    unaskable: int
    least: int
    mean: float


def reference_of_run(graph: Graph, name: str) -> AnsweredRun:
    """Return the facts with answers in a run; theta is the share of wrong ones among a fact's own answers.

    Cost: one scan of the graph's beliefs.

    Raises:
        UnknownNameError: the run does not exist.
        KgprobeError: the run has answers about fewer than two facts.
    """
    run = get_run(graph, name)
    rows = graph.read("beliefs/own_answers", run=name)
    answered = [row for row in rows if row["right"] + row["wrong"] > 0]
    if len(answered) < 2:
        raise KgprobeError(
            f"Run {name!r} has answers about {len(answered)} facts; a reference needs at least two. Continue it by "
            f"`kgprobe rounds resume {name} --rounds N`."
        )
    facts = pd.DataFrame(answered)
    wrong = facts["wrong"].to_numpy(np.float64)
    answers = wrong + facts["right"].to_numpy(np.float64)
    subjects, relations, objects = (facts[name].tolist() for name in ("subject", "relation", "object"))
    return AnsweredRun(
        reference=reference_of(subjects, relations, objects, wrong / answers),
        run=run,
        unaskable=len(rows) - len(answered),
        least=int(answers.min()),
        mean=float(answers.mean()),
    )
