"""Hybrid: one question to a model with recurrent layers after 50 examples, compared with whole prompts in rows."""

import statistics
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Row
from benchmarks.scoring.cases import Example, examples_case
from benchmarks.scoring.shapes import random_hybrid

if TYPE_CHECKING:
    from benchmarks.scoring.cases import Case
    from kgprobe.models.scoring.contract import Floats
    from kgprobe.models.scoring.scorer import Scorer

# Options that go through the model with their whole prompts.
PART = 4
# Measurements of each method, in turn.
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Timed:
    """Scores, and the seconds by the clock and of the processor that they took."""

    values: "Floats"
    clock: float
    processor: float


def hybrid_rows(example: Example, device: str, dtype: str, seed: int) -> list[Row]:
    """Return the rows of the case: the fastest exact method, and ``rows`` on a part, its time scaled."""
    case = examples_case(example, seed).part(1)
    part = case.part(1, PART)
    scorer = random_hybrid(example, device, dtype, seed)
    for name, text in scorer.explain():
        print(f"{name}: {text}", file=sys.stderr)
    by_rows = random_hybrid(example, device, dtype, seed, methods=("rows",))
    (prompt,) = scorer.tokenize(part.prompts, part.continuations)
    # Warm up memory and caches.
    _timed(scorer, part)
    _timed(by_rows, part.part(1, 1))
    pairs = [(_timed(scorer, case), _timed(by_rows, part)) for _ in range(REPEATS)]
    difference = max(float(np.abs(ours.values[:PART] - theirs.values).max()) for ours, theirs in pairs)
    return [
        Row("hybrid", "continuations", case.size, ""),
        Row("hybrid", "tokens of the prompt", len(prompt.context), ""),
        Row("hybrid", "questions", 1 / statistics.median(ours.clock for ours, _ in pairs), "/s"),
        *(
            Row(
                "hybrid",
                f"time by {clock}, of whole prompts scaled from {PART} continuations; medians of {REPEATS}",
                statistics.median(getattr(ours, clock) for ours, _ in pairs),
                "s",
                peer="rows",
                peer_value=statistics.median(getattr(theirs, clock) for _, theirs in pairs) * case.size / PART,
                less_is_better=True,
                max_difference=difference,
            )
            for clock in ("clock", "processor")
        ),
    ]


def _timed(scorer: "Scorer", case: "Case") -> Timed:
    # Neither scores nor prefixes of an earlier call help.
    scorer.forget()
    clock, processor = time.perf_counter(), time.process_time()
    scored = scorer.score(case.prompts, case.continuations)
    seconds, of_processor = time.perf_counter() - clock, time.process_time() - processor
    return Timed(np.concatenate([one.values for one in scored]), seconds, of_processor)
