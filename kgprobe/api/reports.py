"""``kgprobe.make_report``: stored runs, measurements and judged graphs on one page."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from kgprobe.api.comparing import Stored, answers_of, compare, find_gap, open_result
from kgprobe.api.judging import judged_graph
from kgprobe.api.measuring import is_path, open_measurement
from kgprobe.api.rounds import open_run, runs_of
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.progress import print_message
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.results.measurement import Measurement
from kgprobe.results.run import Run
from kgprobe.running.claims import CONFIG
from kgprobe.running.identity import digest_of
from kgprobe.running.measurement import graph_of_measurement
from kgprobe.running.store import FILE

if TYPE_CHECKING:
    from kgprobe.analysis.examined import Examined
    from kgprobe.report.sections import Section
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.knowledge_gap import KnowledgeGap
    from kgprobe.results.report import Report

Reported: TypeAlias = Stored | JudgedGraph

# Suspects that a report lists.
_SUSPECTS = 25
# Maximum length of a folder's name, in characters.
_LONGEST = 60


def make_report(results: Sequence[Reported], *, seed: int = 0) -> "Report":
    """Combine results on one page; no model is loaded.

    Unknown facts come first, then the share that is known, then rates by relation, entity, type, popularity and year,
    errors with examples, outdated answers, and all asked facts. Several results are also compared: shared facts,
    disagreements, facts known by one probe or in one direction only, and facts that several models deny.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> report = kgprobe.make_report([made])
    >>> report.title, len(report.facts_frame())
    ('Facts that Gemma 3 270M does not know', 4)

    Cost: reading all answers; a walk from each asked subject. Memory: the asked facts.

    Args:
        results: runs, measurements and judged graphs; :func:`open_result` opens the first two, with their graph,
            :func:`judged_graph` the last.
        seed: seed of the bootstrap of other metrics than accuracy.

    Raises:
        ArgumentError: no results, one of them twice, or one opened without its graph.
        KgprobeError: a result has no answers.
    """
    from kgprobe.analysis.examined import examine
    from kgprobe.analysis.side_by_side import labels_of
    from kgprobe.results.finding_page import finding_lead, finding_title, result_sections
    from kgprobe.results.report import Report

    seed = whole_number("seed", seed, 0)
    judged = [result for result in results if isinstance(result, JudgedGraph)]
    probed = [result for result in results if not isinstance(result, JudgedGraph)]
    _refuse(results)
    labels = labels_of([answers_of(result) for result in probed])
    examined = [
        examine(result.graph, label, result.finding(), result.outcomes, result.kind.alternatives)
        for result, label in zip(probed, labels, strict=True)
    ]
    if len(examined) == 1:
        parts = _Parts(result_sections(examined[0]), finding_lead(examined[0].finding))
    else:
        parts = _side_by_side(probed, examined, seed) if examined else _Parts()
    for graph in judged:
        parts.sections += _judged_sections(graph)
        parts.lead.append(graph.summary())
    config = {"results": [str(result.folder) for result in results], "seed": seed}
    return Report(
        title=_title(examined, judged) if len(examined) != 1 else finding_title(examined[0].finding),
        lead=parts.lead,
        sections=parts.sections,
        examined=examined,
        judged=judged,
        extra=parts.extra,
        config=config,
        folder=home() / "reports" / f"{_called(results)}-{digest_of(config)}",
    )


def open_any(name: str | Path, graph: Graph | None = None) -> Reported:
    """Return a result by its folder or name: a judged graph, a measurement, or a run.

    Raises:
        UnknownNameError: no such result.
        KgprobeError: another version of kgprobe began the run.
    """
    folder = judged_folder(name)
    return judged_graph(folder) if folder is not None else open_result(name, graph)


def judged_folder(name: str | Path) -> Path | None:
    """Return the folder of a judged graph, by its name in kgprobe's own folder or by its path; None if not found."""
    from kgprobe.judge.judged_facts import is_judged_graph

    own, path = home() / "sweeps" / name, Path(name)
    # A damaged one in kgprobe's own folder counts: opening it reports the damage.
    if not is_path(name) and (own / CONFIG).exists():
        return own
    return path if is_judged_graph(path) else None


def latest_result(graph: Graph) -> Stored:
    """Return the run or measurement of a graph with the latest answer.

    An unreadable folder is reported on stderr and skipped.

    Raises:
        UnknownNameError: the graph has no results.
    """
    uid = msgspec.json.decode(graph_state(graph))["uid"]
    results: list[Stored] = [open_run(graph, run["id"]) for run in runs_of(graph)[-1:]]
    for path in sorted((home() / "probes").glob(f"*/{FILE}")):
        measured = _measurement_of(graph, uid, path.parent)
        if measured is not None:
            results.append(measured)
    answered = [result for result in results if (result.folder / FILE).is_file()]
    if not answered:
        raise UnknownNameError("This graph has no results yet; `kgprobe probe distractors --model demo` makes one.")
    return max(answered, key=lambda result: (result.folder / FILE).stat().st_mtime)


def _measurement_of(graph: Graph, uid: str, folder: Path) -> Measurement | None:
    """Return a folder's measurement; None if it is of another graph, or damaged, which is reported."""
    try:
        return open_measurement(folder, graph) if graph_of_measurement(folder) == uid else None
    except KgprobeError as error:
        print_message(f"{folder.name} is skipped: {error}")
        return None


def _called(results: Sequence[Reported]) -> str:
    """Return the beginning of a report's folder name: as many names of results as fit."""
    names = [result.name if isinstance(result, Run) else result.folder.name for result in results]
    return "-".join(names)[:_LONGEST].rstrip("-. ")


def _refuse(results: Sequence[Reported]) -> None:
    if not results:
        raise ArgumentError("results", "is empty; expected runs, measurements or judged graphs.")
    folders = [result.folder.resolve() for result in results]
    for result, folder in zip(results, folders, strict=True):
        if folders.count(folder) > 1:
            raise ArgumentError("results", f"has the same result twice: {folder}.")
        if not isinstance(result, JudgedGraph) and result.graph is None:
            raise ArgumentError(
                "results", f"has {folder.name}, opened without its graph; use open_result(name, `graph`)."
            )


def _title(examined: "Sequence[Examined]", judged: Sequence[JudgedGraph]) -> str:
    from kgprobe.models.spec_forms import model_name
    from kgprobe.results.side_by_side import results_title

    if examined:
        return results_title(examined)
    models = list(dict.fromkeys(model_name(result.config.judge.answers_of) for result in judged))
    return f"Judged answers of {' and '.join(models)} on a whole graph"


@dataclass(slots=True)
class _Parts:
    """Parts of a report on several results.

    Attributes:
        sections, lead, notes: sections, first sentences, and notes.
        extra: figures for programs, by name.
    """

    sections: "list[Section]" = field(default_factory=list)
    lead: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


def _side_by_side(asked: Sequence[Stored], examined: "Sequence[Examined]", seed: int) -> _Parts:
    """Return the parts of a report on at least two results."""
    from kgprobe.report.sections import Section
    from kgprobe.results.side_by_side import results_lead, suspects_section

    parts = _Parts(lead=results_lead(examined))
    compared = _compared(asked, seed, parts.notes)
    _add_comparison(parts, examined, compared)
    _add_gaps(parts, _gaps(asked, parts.notes))
    _add_directions(parts, [] if compared is not None and compared.directions else _directions(asked, seed))
    suspects = _suspects(asked)
    if suspects is not None:
        parts.sections.append(suspects_section(suspects, len({result.model for result in asked})))
    parts.extra["suspects"] = suspects or []
    if parts.notes:
        parts.sections.append(Section("text", "Notes", {"paragraphs": list(dict.fromkeys(parts.notes))}))
    for result in examined:
        parts.sections += _result_sections(result)
    return parts


def _add_comparison(parts: _Parts, examined: "Sequence[Examined]", compared: "Comparison | None") -> None:
    """Add unknown facts, the comparison on shared facts, and disagreements."""
    from kgprobe.results.side_by_side import (
        comparison_sections,
        disagreement_section,
        disagreements,
        unknown_section,
        unknown_to_all,
    )

    unknown = unknown_to_all(examined)
    shared = 0 if compared is None else len(compared.figures.beside.facts)
    parts.sections.append(unknown_section(unknown, shared))
    parts.extra["unknown_to_all"] = unknown
    if compared is None:
        parts.lead.insert(0, parts.notes.pop())
        return
    parts.lead[:0] = filter(None, [compared.unshared])
    parts.lead.append(compared.summary())
    parts.notes += compared.notes
    labels = compared.figures.labels
    apart = disagreements(compared.facts_frame(), labels)
    parts.sections += comparison_sections(compared.figures.beside, compared.tables())
    parts.sections.append(disagreement_section(apart, labels, shared))
    parts.extra |= {"comparison": compared.to_dict(), "disagreements": apart}


def _add_gaps(parts: _Parts, gaps: "Sequence[KnowledgeGap]") -> None:
    """Add knowledge gaps; if there are several, each names its results."""
    from kgprobe.report.sections import table_section

    for gap in gaps:
        which = "" if len(gaps) == 1 else f"{Path(gap.config['stored']).name} and {Path(gap.config['said']).name}: "
        parts.lead.append(f"{which}{gap.summary()}")
        for table in gap.tables():
            section = table_section(replace(table, title=f"{which}{table.title}"))
            parts.sections.append(replace(section, short="Known and missed"))
    parts.extra["gaps"] = [gap.to_dict() for gap in gaps]


def _add_directions(parts: _Parts, directions: "Sequence[Comparison]") -> None:
    """Add comparisons of forward and backward results."""
    from kgprobe.report.sections import table_section

    for pair in directions:
        parts.sections += [table_section(table) for table in pair.tables() if table.key in _OF_DIRECTIONS]
    parts.extra["directions"] = [pair.to_dict()["directions"] for pair in directions]


def _result_sections(result: "Examined") -> "list[Section]":
    """Return the sections of one result among several; the table of contents names it once."""
    from kgprobe.results.finding_page import result_sections

    return [
        replace(
            section, title=section.title and f"{result.label}: {section.title}", short=result.label, listed=not place
        )
        for place, section in enumerate(result_sections(result))
    ]


_OF_DIRECTIONS = ("directions", "forwards_alone", "backwards_alone")


def _compared(asked: Sequence[Stored], seed: int, notes: list[str]) -> "Comparison | None":
    """Return the comparison on shared facts; None, with a note, if no fact is shared."""
    try:
        return compare(asked, seed=seed)
    except ArgumentError:
        raise
    except KgprobeError as error:
        notes.append(str(error))
        return None


def _gaps(asked: Sequence[Stored], notes: list[str]) -> "list[KnowledgeGap]":
    """Return the knowledge gaps of all pairs of a scoring and a generating result of one model."""
    gaps = []
    for first, second in combinations(asked, 2):
        stored, said = (first, second) if first.kind.asks == "scores" else (second, first)
        if (stored.kind.asks, said.kind.asks) != ("scores", "answers") or first.model != second.model:
            continue
        try:
            gaps.append(find_gap(stored, said))
        except KgprobeError as error:
            message = str(error).removeprefix("`said` ")
            notes.append(f"The knowledge gap of {said.model} cannot be computed: {said.folder.name} {message}")
    return gaps


def _directions(asked: Sequence[Stored], seed: int) -> "list[Comparison]":
    """Return comparisons of all pairs of results of one model and probe that differ in direction."""
    comparisons = []
    for first, second in combinations(asked, 2):
        if first.reversed != second.reversed and (first.model, first.kind.name) == (second.model, second.kind.name):
            compared = _compared([first, second], seed, [])
            if compared is not None:
                comparisons.append(compared)
    return comparisons


def _suspects(asked: Sequence[Stored]) -> list[dict[str, Any]] | None:
    """Return facts that several runs' models deny; None without runs of two models in one graph."""
    runs = [result for result in asked if isinstance(result, Run) and not result.reversed]
    if len({run.model for run in runs}) < 2 or len({id(run.graph) for run in runs}) > 1:
        return None
    parameters = {"runs": [run.name for run in runs], "models": 2, "around": 3, "candidates": 1_000, "limit": _SUSPECTS}
    rows = runs[0].graph.read("explore/suspects", **parameters)
    return [{column: value for column, value in row.items() if column != "path"} for row in rows]


def _judged_sections(judged: JudgedGraph) -> "list[Section]":
    """Return the sections of a judged graph."""
    from kgprobe.report.sections import Section, table_section

    label = f"{judged.config.judge.answers_of}, judged"
    sections = [
        Section("text", f"{label}: the whole graph", {"paragraphs": [judged.summary(), *judged.notes]}, of=label)
    ]
    tables = [table_section(table) for table in judged.tables()]
    return sections + [
        replace(section, title=f"{label}: {section.title}", of=label, listed=False) for section in tables
    ]
