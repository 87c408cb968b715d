"""A run as a reference for replays: how hard its facts are, as far as its own answers tell.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgprobe.beliefs.reference import Reference, reference_of
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.running.runs import get_run


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """A reference from what a run found, and how far it can be trusted.

    Attributes:
        run: its properties.
        unaskable: how many facts it could not ask: they are left out, as those are that it never came to.
        least, mean: own answers a fact, of those that are in.
    """

    reference: Reference
    run: dict[str, Any]
    unaskable: int
    least: int
    mean: float


def reference_of_run(graph: Graph, name: str) -> AnsweredRun:
    """The facts that a run had answers about; theta is the share of each one's own answers that were wrong.

    Cost: one scan of the graph's beliefs.

    Raises:
        UnknownNameError: the graph has no such run.
        KgprobeError: the run has no answers about two facts or more.
    """
    run = get_run(graph, name)
    rows = graph.read("beliefs/own_answers", run=name)
    answered = [row for row in rows if row["right"] + row["wrong"] > 0]
    if len(answered) < 2:
        raise KgprobeError(
            f"Run {name!r} has answers about {len(answered)} facts, and a reference needs two at least: go on with it "
            f"by `kgprobe rounds resume {name} --rounds N`."
        )
    subjects, relations, objects = ([row[name] for row in answered] for name in ("subject", "relation", "object"))
    wrong = np.array([row["wrong"] for row in answered], dtype=np.float64)
    answers = wrong + np.array([row["right"] for row in answered], dtype=np.float64)
    return AnsweredRun(
        reference=reference_of(subjects, relations, objects, wrong / answers),
        run=run,
        unaskable=len(rows) - len(answered),
        least=int(answers.min()),
        mean=float(answers.mean()),
    )
