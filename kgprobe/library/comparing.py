"""Models side by side: what runs and measurements found, and what two runs believe of the same facts."""

from typing import TYPE_CHECKING

from kgprobe.arguments import whole_number
from kgprobe.asking.runs import get_run
from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.graph.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from kgprobe.library.measuring import Measurement
    from kgprobe.library.rounds import Run


def side_by_side(results: "Sequence[Run | Measurement]") -> "pd.DataFrame":
    """What several models did on the facts that all of them were asked, in pandas, the best first.

    Rounds ask each model what it fails on, so the rates of what each was asked say nothing of which knows more: these
    are over the ``shared`` facts, and None where there are none. What they speak of stands in ``attrs["caveat"]``.

    >>> one = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> other = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, strategy="semantic")
    >>> beside = kgprobe.side_by_side([one, other])
    >>> beside["asked"].tolist(), beside["shared"].tolist(), beside.attrs["caveat"]
    ([4, 4], [4, 4], 'Rates are over the 4 facts that all of them were asked.')

    Cost: a finding each.

    Raises:
        ArgumentError: there is none of them.
        KgprobeError: one of them has no answer yet.
    """
    import pandas as pd

    from kgprobe.analysis.side_by_side import set_side_by_side

    if not results:
        raise ArgumentError("results", "is empty; one run or measurement at least is expected.")
    compared = set_side_by_side([result.finding() for result in results])
    rows = [
        {
            "name": side.about.name,
            "model": side.about.model,
            "probe": side.about.probe,
            "asked": side.asked,
            "shared": compared.facts,
            "win_rate": side.shared and side.shared.win_rate.value,
            "win_rate_low": side.shared and side.shared.win_rate.low,
            "win_rate_high": side.shared and side.shared.win_rate.high,
            "zero_sense_rate": side.shared and side.shared.zero_sense_rate.value,
            "guessed": side.shared and side.shared.guessed,
            "theta": side.theta,
        }
        for side in compared.sides
    ]
    frame: pd.DataFrame = pd.DataFrame(rows)
    frame.attrs["caveat"] = compared.caveat
    return frame


def compare_runs(graph: Graph, one: str, other: str, *, limit: int = 50) -> Rows:
    """The facts on which two runs differ most: own answers and E[theta] of each, the greatest difference first.

    >>> run = kgprobe.run_rounds(graph, "demo", name="compared", rounds=1, batch=3, distractors=3)
    >>> len(kgprobe.compare_runs(graph, "compared", "compared", limit=2).frame())
    2

    Cost: a scan of the graph's beliefs.

    Args:
        one, other: names of runs.
        limit: how many facts at most.

    Raises:
        UnknownNameError: there is no such run.
        ArgumentError: the limit is below 1.
    """
    limit = whole_number("limit", limit)
    for run in (one, other):
        get_run(graph, run)
    return graph.query("explore/compare_models", one=one, other=other, limit=limit)
