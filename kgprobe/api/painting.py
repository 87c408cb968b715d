"""``kgprobe.paint_beliefs``: what a run believes, as relationships that a person can see in Neo4j Browser."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgprobe.api.rounds import open_run
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph

# The types of relationships that are painted, in lower case, and the queries that do it.
PAINTS = {
    "known": "paint/known",
    "unsure": "paint/unsure",
    "unknown": "paint/unknown",
    "learned": "paint/learned",
    "forgot": "paint/forgot",
}

# The paint of a word; all other words are painted as unsure.
_PAINT_OF = {BeliefWord.SURELY_KNOWN.value: "known", BeliefWord.SURELY_UNKNOWN.value: "unknown"}
# What was known before and is now: what a person wants to see of two runs.
_CHANGES = {("unknown", "known"): "learned", ("known", "unknown"): "forgot"}
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Painted:
    """What was painted.

    Attributes:
        run: whose beliefs.
        against: the earlier run that it was compared with.
        counts: how many facts got each of ``PAINTS``.
    """

    run: str
    against: str | None
    counts: Mapping[str, int]

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {paint.upper()}" for paint, count in self.counts.items() if count)
        return f"Painted what run {self.run} believes: {told or 'it has no answer yet'}."


def paint_beliefs(graph: Graph, run: str | None = None, *, against: str | None = None) -> Painted:
    """Draw a relationship beside each fact that a run asked, whose type says what is believed of it.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=2, facts_per_round=8, distractors=3, name="painted")
    >>> painted = kgprobe.paint_beliefs(graph, "painted")
    >>> print(painted)
    Painted what run painted believes: ... UNSURE...

    ``KNOWN`` where the fact is surely known, ``UNKNOWN`` where it is surely unknown, else ``UNSURE``; with an earlier
    run, ``LEARNED`` and ``FORGOT`` where that was sure of the opposite. The words are those of the run's page: see
    :mod:`kgprobe.beliefs.belief_words`.
    What was painted before is cleared first: a graph shows one picture at a time.

    Args:
        run: its name; None is the one that was begun last.
        against: the name of an earlier run on the same graph, of a model before it was trained further, say.

    Raises:
        UnknownNameError: there is no such run.
        ArgumentError: a run is to be compared with itself.

    Cost: the run's beliefs, and those of the earlier one; in transactions of bounded size. Memory: what the earlier
    run is sure of.
    """
    run = open_run(graph, run).name
    before: dict[str, str] = {}
    if against is not None:
        against = open_run(graph, against).name
        if against == run:
            raise ArgumentError("against", f"is {run!r}, the run itself; another is expected.")
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
    """Delete what was painted, in transactions of bounded size; how many relationships there were."""
    deleted = 0
    while now := graph.write("paint/clear", run=None, size=10_000)[0]["deleted"]:
        deleted += now
    return deleted


def _paint(graph: Graph, waiting: Mapping[str, list[str]]) -> None:
    for paint, beliefs in waiting.items():
        if beliefs:
            graph.write(PAINTS[paint], beliefs=beliefs)
            beliefs.clear()
