"""Paint: the beliefs of runs as relationships and labels, to see them in Neo4j Browser.

docs/guides/browser.md. Browser chooses colours by type and label, so each belief word has a type of relationship, and
entities have a label for the share of their asked facts that is unknown.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kgprobe.base.arguments import whole_number
from kgprobe.base.errors import ArgumentError
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.state import PAINTED

# Painted types of relationships with the sign that begins their captions.
PAINTS = dict(zip(PAINTED, ("✓", "✓?", "✗?", "✗", "+", "−", "…"), strict=True))
_TYPE_OF = {
    BeliefWord.SURELY_KNOWN.value: "KNOWN",
    BeliefWord.LEANS_KNOWN.value: "LEANS_KNOWN",
    BeliefWord.LEANS_UNKNOWN.value: "LEANS_UNKNOWN",
    BeliefWord.SURELY_UNKNOWN.value: "UNKNOWN",
}
# Type of a change between the sure beliefs of two runs.
_CHANGES = {("UNKNOWN", "KNOWN"): "LEARNED", ("KNOWN", "UNKNOWN"): "FORGOT"}
# Values of a belief that a painted relationship has, in addition to the run.
_VALUES = ("model", "alpha", "beta", "theta", "low", "high", "right", "wrong", "belief")
_AT_ONCE = 5_000


# Unasked facts that are painted by default.
EXPECTED_FACTS = 200


@dataclass(frozen=True, slots=True)
class Painted:
    """Result of painting.

    Attributes:
        counts: number of painted facts by type, see ``PAINTS``.
    """

    runs: Sequence[str]
    against: str | None
    counts: Mapping[str, int]

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {type_}" for type_, count in self.counts.items() if count)
        called = f"run {self.runs[0]}" if len(self.runs) == 1 else f"runs {', '.join(self.runs)}"
        return f"Painted the beliefs of {called}: {counts or 'no answers yet'}."


def paint_runs(graph: Graph, runs: Sequence[str], against: str | None, expected: int) -> Painted:
    """Replace the paint of a graph by the beliefs of runs, compared with an earlier run if one is given.

    Args:
        expected: number of unasked facts to paint, of the run in view, which has to be one of the runs.

    Cost: the runs' beliefs, and a walk through the facts of their subjects. Memory: the asked entities, and the sure
    beliefs of the earlier run.
    """
    before = {} if against is None else _sure_types(graph, against)
    clear_paint(graph)
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    # Several runs have parallel relationships, which only the caption distinguishes.
    suffixes = {run: f" · {run}" if len(runs) > 1 else "" for run in runs}
    for run in runs:
        rows = graph.stream("paint/beliefs", run=run)
        while batch := list(islice(rows, _AT_ONCE)):
            by_type = defaultdict(list)
            for row in batch:
                now = _TYPE_OF[row["belief"]]
                by_type[_CHANGES.get((before.get(row["fact"], ""), now), now)].append(row)
                for entity in {row["subject"], row["object"]}:
                    sizes[entity] += 1
                    unknown[entity] += row["belief"].endswith("unknown")
            for type_, of_type in by_type.items():
                counts[type_] += _paint(graph, type_, run, of_type, suffixes[run])
    if expected:
        run = graph.read("view/runs")[0]["run"]
        rows = graph.stream("paint/unasked", limit=expected)
        while batch := list(islice(rows, _AT_ONCE)):
            counts["EXPECTED"] += _paint(graph, "EXPECTED", run, batch, suffixes[run])
    if not graph.is_embedded:
        # The embedded engine has no Browser, and stores a node again whose labels change.
        _label_entities(graph, sizes, unknown)
    return Painted(runs, against, {type_: counts[type_] for type_ in PAINTS})


def expected_facts(graph: Graph, runs: Sequence[str], expected: int | None) -> int:
    """Return the number of unasked facts to paint: 0 by default if none of the runs is in view."""
    in_view = any(row["in_view"] and row["run"] in runs for row in graph.read("view/runs"))
    if expected is None:
        return EXPECTED_FACTS if in_view else 0
    if whole_number("expected", expected, minimum=0) and not in_view:
        raise ArgumentError(
            "expected", f"is {expected}, but no painted run is in view; `kgprobe beliefs apply {runs[0]}` brings one."
        )
    return expected


def _sure_types(graph: Graph, run: str) -> dict[str, str]:
    """Return the types of the facts of which a run is sure."""
    sure = {}
    for row in graph.stream("paint/beliefs", run=run):
        if _TYPE_OF[row["belief"]] in ("KNOWN", "UNKNOWN"):
            sure[row["fact"]] = _TYPE_OF[row["belief"]]
    return sure


def _paint(graph: Graph, type_: str, run: str, beliefs: Iterable[Row], suffix: str) -> int:
    """Paint relationships of a type; return their number."""
    facts_of: dict[str, dict[str, Row]] = defaultdict(dict)
    for belief in beliefs:
        properties = {"run": run, **{name: belief[name] for name in _VALUES}}
        facts_of[belief["subject"]][belief["fact"]] = {
            "properties": properties,
            "mark": PAINTS[type_],
            "suffix": suffix,
        }
    rows = [{"subject": subject, "facts": facts} for subject, facts in facts_of.items()]
    painted: int = graph.write(f"paint/{type_.lower()}", rows=rows)[0]["painted"]
    return painted


def _label_entities(graph: Graph, asked: Counter[str], unknown: Counter[str]) -> None:
    """Label the asked entities by their share of unknown facts: at most a third, at least two thirds, or between."""
    rows_of = defaultdict(list)
    for entity, facts in asked.items():
        share = unknown[entity] / facts
        # Exact for thirds: 3 * unknown is an integer.
        thrice = 3 * unknown[entity]
        label = "MostlyKnown" if thrice <= facts else "MostlyUnknown" if thrice >= 2 * facts else "HalfKnown"
        rows_of[label].append({"id": entity, "share": share})
    for label, rows in rows_of.items():
        for start in range(0, len(rows), _AT_ONCE):
            graph.write("paint/labels", label=label, rows=rows[start : start + _AT_ONCE])


def clear_paint(graph: Graph, run: str | None = None) -> int:
    """Delete the painted relationships of a run, or of all runs, and the painted labels; return their number.

    In transactions of bounded size.
    """
    deleted = 0
    while now := graph.write("paint/clear", run=run, size=10_000)[0]["deleted"]:
        deleted += now
    if not graph.is_embedded and (deleted or run is None):
        while graph.write("paint/clear_entities", size=10_000)[0]["cleared"]:
            pass
    return deleted
