"""Paint: the beliefs of a run as relationships, to see them in Neo4j Browser."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from kgprobe.beliefs.summary import BeliefWord
from kgprobe.graph.client import Graph

# Types of painted relationships, in lower case, and their queries.
PAINTS = {
    "known": "paint/known",
    "unsure": "paint/unsure",
    "unknown": "paint/unknown",
    "learned": "paint/learned",
    "forgot": "paint/forgot",
}

# Paint of a belief word; all other words are painted as unsure.
_PAINT_OF = {BeliefWord.SURELY_KNOWN.value: "known", BeliefWord.SURELY_UNKNOWN.value: "unknown"}
# Paint of a change between two runs.
_CHANGES = {("unknown", "known"): "learned", ("known", "unknown"): "forgot"}
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Painted:
    """Result of painting.

    Attributes:
        run: the painted run.
        against: the earlier run, if compared.
        counts: number of facts by paint, see ``PAINTS``.
    """

    run: str
    against: str | None
    counts: Mapping[str, int]

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {paint.upper()}" for paint, count in self.counts.items() if count)
        return f"Painted the beliefs of run {self.run}: {counts or 'it has no answers yet'}."


def paint_run(graph: Graph, run: str, against: str | None) -> Painted:
    """Replace the paint of a graph by the beliefs of a run, compared with an earlier one if it is given."""
    # Paint of the facts that the earlier run is sure of.
    before: dict[str, str] = {}
    if against is not None:
        for row in graph.stream("paint/beliefs", run=against):
            if row["believed"] in _PAINT_OF:
                before[row["fact"]] = _PAINT_OF[row["believed"]]
    clear_paint(graph)
    counts: Counter[str] = Counter()
    rows = graph.stream("paint/beliefs", run=run)
    while batch := list(islice(rows, _AT_ONCE)):
        painted = defaultdict(list)
        for row in batch:
            now = _PAINT_OF.get(row["believed"], "unsure")
            paint = _CHANGES.get((before.get(row["fact"], ""), now), now)
            painted[paint].append(f"{run}/{row['fact']}")
        for paint, beliefs in painted.items():
            graph.write(PAINTS[paint], beliefs=beliefs)
            counts[paint] += len(beliefs)
    return Painted(run, against, {paint: counts[paint] for paint in PAINTS})


def clear_paint(graph: Graph) -> int:
    """Delete all painted relationships, in transactions of bounded size; return their number."""
    deleted = 0
    while now := graph.write("paint/clear", run=None, size=10_000)[0]["deleted"]:
        deleted += now
    return deleted
