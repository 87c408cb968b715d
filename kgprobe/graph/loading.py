"""Load an open source into a graph, with a report of the written and skipped records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import LoadCounts
from kgprobe.graph.ingest import load as ingest
from kgprobe.sources.contract import ReadsGraph, Source

_NONE_SKIPPED = {"unreadable": 0, "duplicate": 0, "missing": 0}


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Result of a load; its text is one or more sentences.

    Attributes:
        source: the source.
        entities, relations, facts: numbers of records written by this call; a resumed load counts from its restart.
        created, changed: numbers of new records among them, and of those that were in the graph with other values, by
            ``entities``, ``relations`` and ``facts``; the others were there already.
        properties: names of the properties of relations that were changed, such as ``clozes``.
        skipped: numbers of skipped records, by reason: ``unreadable``, ``duplicate``, ``missing`` (a fact of an entity
            that is not in the graph).
        outside: number of facts left out because their object is not in a source that is a part of a larger one.
        resumed: True if an interrupted load was resumed.
        problems: messages about the first ``KEPT_PROBLEMS`` skipped records.
        broken: messages about truncated files; an unknown number of records after the break is lost.
        not_loaded: numbers of statements of the source that are not loaded, by kind, such as ``deprecated``.
        folded: number of names that were changed into the form that all names have that print alike.
    """

    source: str
    entities: int
    relations: int
    facts: int
    created: Mapping[str, int]
    changed: Mapping[str, int]
    properties: Sequence[str]
    skipped: Mapping[str, int]
    outside: int
    resumed: bool
    problems: Sequence[str]
    broken: Sequence[str] = ()
    not_loaded: Mapping[str, int] = field(default_factory=dict)
    folded: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the counts; JSON-compatible."""
        return {
            "source": self.source,
            "resumed": self.resumed,
            "relations": self.relations,
            "entities": self.entities,
            "facts": self.facts,
            "created": dict(self.created),
            "changed": dict(self.changed),
            "properties": list(self.properties),
            "skipped": dict(self.skipped),
            "outside": self.outside,
            "not_loaded": dict(self.not_loaded),
            "folded": self.folded,
            "broken": list(self.broken),
        }

    def check(self) -> None:
        """Raise an error unless records were loaded, and no file was truncated.

        Raises:
            KgprobeError: nothing was loaded, or a file is truncated.
        """
        if self.broken:
            raise KgprobeError(f"Only a part of {self.source} could be read. {' '.join(self.broken)}")
        if not (self.entities or self.relations or self.facts or self.resumed):
            why = f" {self.problems[0]}" if self.problems else " It has no records."
            left_out = sum(self.skipped.values()) + self.outside
            raise KgprobeError(f"Nothing was loaded from {self.source}; {left_out:,} records were left out.{why}")

    def __str__(self) -> str:
        """Return the numbers of written and skipped records."""
        written = ", ".join(map(self._written, ("entities", "relations", "facts")))
        lines = [f"{self.source}: {written}{' (resumed)' if self.resumed else ''}."]
        if self.properties:
            lines.append(f"Changed in relations: {', '.join(self.properties)}.".replace("_", " "))
        skipped = [f"{count:,} {reason}" for reason, count in self.skipped.items() if count]
        if skipped:
            lines.append(f"Skipped: {', '.join(skipped)}.")
        if self.outside:
            lines.append(f"{self.outside:,} facts were left out: their objects are not in this part of the source.")
        if self.folded:
            names = f"{counted(self.folded, 'name')} {'was' if self.folded == 1 else 'were'}"
            lines.append(
                f"{names} changed, so that names that print alike are equal: normal form NFC, no invisible characters,"
                " plain spaces, apostrophes and hyphens."
            )
        if self.not_loaded:
            kinds = [f"{count:,} {kind}" for kind, count in sorted(self.not_loaded.items())]
            lines.append(f"Statements not loaded: {sum(self.not_loaded.values()):,} ({', '.join(kinds)}).")
        return "\n".join(lines)

    def _written(self, kind: str) -> str:
        """Return the number of records of a kind; how many are new, changed and unchanged, unless all are new."""
        total, created, changed = getattr(self, kind), self.created[kind], self.changed[kind]
        parts = {"new": created, "changed": changed, "unchanged": total - created - changed}
        described = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
        return f"{total:,} {kind}" + (f" ({described})" if created < total else "")


OnProblem: TypeAlias = Callable[[str], None]


def load_source(
    graph: Graph,
    source: Source,
    *,
    strict: bool = False,
    remove_missing: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = no_progress,
) -> LoadReport:
    """Load an open source; otherwise as :func:`kgprobe.load`."""
    if isinstance(source, ReadsGraph) and source.reads(graph.endpoint.address, graph.endpoint.database):
        raise ArgumentError("graph", f"is {source.name} itself; load a graph into another one, such as a folder.")
    counts = ingest(
        graph,
        source,
        strict=strict,
        remove_missing=remove_missing,
        report_problem=on_problem,
        report_progress=measuring("Loading", source, on_progress),
    )
    return report_of(source.name, counts)


def measuring(work: str, source: Source, on_progress: OnProgress) -> Callable[[str, int], None]:
    """Return a function that reports the progress of a source, from a stage and its number of new records."""
    title, records = f"{work} {source.name}", 0

    def report(stage: str, more: int) -> None:
        nonlocal records
        records += more
        on_progress(StepProgress(stage, source.done, source.total, "records", title, records))

    return report


def report_of(source: str, counts: LoadCounts) -> LoadReport:
    """Return the report of a load with these counts."""
    kinds = ("entities", "relations", "facts")
    return LoadReport(
        source=source,
        **{kind: counts.written[kind] for kind in kinds},
        created={kind: counts.created[kind] for kind in kinds},
        changed={kind: counts.changed[kind] for kind in kinds},
        properties=sorted(counts.properties),
        skipped={**_NONE_SKIPPED, **counts.problems},
        outside=counts.outside,
        resumed=counts.resumed,
        problems=counts.messages,
        broken=tuple(counts.broken),
        not_loaded=counts.not_loaded,
        folded=counts.folded,
    )
