"""``kgprobe.paint_beliefs``: beliefs of a run as relationships, to see them in Neo4j Browser."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgprobe.api.rounds import open_run
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.errors import ArgumentError
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


def paint_beliefs(graph: Graph, run: str | None = None, *, against: str | None = None) -> Painted:
    """Add a relationship next to each fact that a run asked, whose type is the belief.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=2, facts_per_round=8, distractors=3, name="painted")
    >>> painted = kgprobe.paint_beliefs(graph, "painted")
    >>> print(painted)
    Painted the beliefs of run painted: ... UNSURE...

    ``KNOWN`` if the fact is surely known, ``UNKNOWN`` if it is surely unknown, else ``UNSURE``; with an earlier
    run, ``LEARNED`` and ``FORGOT`` if that was sure of the opposite. The words are those of the run's page: see
    :mod:`kgprobe.beliefs.belief_words`.
    Earlier paint is cleared first: a graph shows one run at a time.

    Args:
        run: name of the run; None is the latest.
        against: name of an earlier run on the same graph, such as one before fine-tuning.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: the two runs are the same.

    Cost: the run's beliefs, and those of the earlier one; in transactions of bounded size. Memory: the earlier
    run's sure facts.
    """
    run = open_run(graph, run).name
    before: dict[str, str] = {}
    if against is not None:
        against = open_run(graph, against).name
        if against == run:
            raise ArgumentError("against", f"is {run!r}, the run itself; expected another run.")
        rows = graph.stream("paint/beliefs", run=against)
        before = {row["fact"]: _PAINT_OF[row["believed"]] for row in rows if row["believed"] in _PAINT_OF}
    clear_paint(graph)
    counts = dict.fromkeys(PAINTS, 0)
    waiting: dict[str, list[str]] = {paint: [] for paint in PAINTS}
    held = 0
    for row in graph.stream("paint/beliefs", run=run):
        now = _PAINT_OF.get(row["believed"], "unsure")
        paint = _CHANGES.get((before.get(row["fact"], ""), now), now)
        waiting[paint].append(f"{run}/{row['fact']}")
        counts[paint] += 1
        held += 1
        if held == _AT_ONCE:
            _paint(graph, waiting)
            held = 0
    _paint(graph, waiting)
    return Painted(run, against, counts)


def clear_paint(graph: Graph) -> int:
    """Delete all painted relationships, in transactions of bounded size; return their number."""
    deleted = 0
    while now := graph.write("paint/clear", run=None, size=10_000)[0]["deleted"]:
        deleted += now
    return deleted


def _paint(graph: Graph, waiting: Mapping[str, list[str]]) -> None:
    for paint, beliefs in waiting.items():
        if beliefs:
            graph.write(PAINTS[paint], beliefs=beliefs)
            beliefs.clear()
