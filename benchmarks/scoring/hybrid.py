"""Hybrid: a model with recurrent layers after a prompt of 50 examples, compared with whole prompts in rows."""

import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Row
from benchmarks.scoring.cases import Example, examples_case
from benchmarks.scoring.shapes import random_hybrid

if TYPE_CHECKING:
    from benchmarks.scoring.cases import Case
    from kgprobe.models.scoring.contract import Floats
    from kgprobe.models.scoring.scorer import Scorer

# Questions, and options of each, that go through the model with their whole prompts.
PART = (1, 20)


def hybrid_rows(example: Example, device: str, dtype: str, seed: int) -> list[Row]:
    """Return the rows of the case: the fastest exact way, and ``rows`` on a part, its time scaled."""
    case = examples_case(example, seed)
    part = case.part(*PART)
    scorer = random_hybrid(example, device, dtype, seed)
    for name, text in scorer.explain():
        print(f"{name}: {text}", file=sys.stderr)
    by_rows = random_hybrid(example, device, dtype, seed, ways=("rows",))
    for one in (scorer, by_rows):
        _timed(one, case.part(1, 4))
    ours, values = _timed(scorer, case)
    theirs, expected = _timed(by_rows, part)
    return [
        Row("hybrid", "continuations", case.size, ""),
        Row("hybrid", "questions", len(case.prompts) / ours, "/s"),
        Row(
            "hybrid",
            f"time, of whole prompts scaled from {part.size} continuations",
            ours,
            "s",
            peer="rows",
            peer_value=theirs * case.size / part.size,
            less_is_better=True,
            max_difference=float(np.abs(values[: part.size] - expected).max()),
        ),
    ]


def _timed(scorer: "Scorer", case: "Case") -> tuple[float, "Floats"]:
    clock = time.perf_counter()
    scored = scorer.score(case.prompts, case.continuations)
    return time.perf_counter() - clock, np.concatenate([one.values for one in scored])
