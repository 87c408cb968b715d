"""Profile of a run: time of operations by kind, as torch counts them."""

import time
from typing import TYPE_CHECKING

from benchmarks.report import Row

if TYPE_CHECKING:
    from benchmarks.scoring.cases import Case
    from kgprobe.models.scoring.scorer import Scorer

# Kinds of operations by prefixes of their names; all others are the model's own, between products.
KINDS = {
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm"),
    "attention": ("aten::_scaled_dot_product",),
    "exponentials of the vocabulary's logits": ("aten::exp_", "aten::amax", "aten::sub_", "aten::clamp_", "aten::sum"),
}
BETWEEN = "norms, activations, positions, masks"
OUTSIDE = "outside of all operations: tokens, tries, batches"


def profile(scorer: "Scorer", case: "Case") -> list[Row]:
    """Return the share of a case's time for each kind of operation, on a CPU."""
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        clock = time.perf_counter()
        scorer.score(case.prompts, case.continuations, eos=case.eos)
        seconds = time.perf_counter() - clock
    spent = dict.fromkeys((*KINDS, BETWEEN), 0.0)
    for event in profiler.key_averages():
        kind = next((kind for kind, names in KINDS.items() if event.key.startswith(names)), BETWEEN)
        spent[kind] += event.self_cpu_time_total / 1e6
    spent[OUTSIDE] = seconds - sum(spent.values())
    return [Row(case.name, f"share of the time: {kind}", 100 * part / seconds, "%") for kind, part in spent.items()]
