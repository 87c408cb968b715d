"""Models side by side: what runs and measurements found, and what two runs believe of the same facts."""

from typing import TYPE_CHECKING

from kgprobe.arguments import whole_number
from kgprobe.asking.runs import get_run
from kgprobe.graph.client import Graph
from kgprobe.graph.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from kgprobe.library.measuring import Measurement
    from kgprobe.library.rounds import Run


def side_by_side(results: "Sequence[Run | Measurement]") -> "pd.DataFrame":
    """The rates of several runs or measurements in pandas, the best first; intervals beside their rates.

    >>> one = kgprobe.measure(graph, "demo", sample=4, distractors=3, sentences=1)
    >>> other = kgprobe.measure(graph, "demo", sample=4, distractors=3, sentences=1, strategy="semantic")
    >>> kgprobe.side_by_side([one, other])["facts"].tolist()
    [4, 4]

    Cost: a finding each.

    Raises:
        KgprobeError: one of them has no answer yet.
    """
    import pandas as pd

    rows = []
    for finding in (result.finding() for result in results):
        overall = finding.overall
        rows.append(
            {
                "name": finding.about.name,
                "model": finding.about.model,
                "probe": finding.about.probe,
                "facts": overall.facts,
                "win_rate": overall.win_rate.value,
                "win_rate_low": overall.win_rate.low,
                "win_rate_high": overall.win_rate.high,
                "zero_sense_rate": overall.zero_sense_rate.value,
                "chance": finding.chance,
                "theta": finding.theta,
            }
        )
    frame: pd.DataFrame = pd.DataFrame(rows)
    return frame.sort_values("win_rate", ascending=False, kind="stable", ignore_index=True) if rows else frame


def compare_runs(graph: Graph, one: str, other: str, *, limit: int = 50) -> Rows:
    """The facts on which two runs differ most: own answers and E[theta] of each, the greatest difference first.

    >>> run = kgprobe.run_rounds(graph, "demo", run="compared", rounds=1, batch=3, distractors=3)
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
