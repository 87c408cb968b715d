"""``kgprobe.make_report``: what some stored results say, on one page: runs, measurements, judged graphs."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from kgprobe.api.comparing import Stored, answers_of, compare, find_gap, open_result
from kgprobe.api.judged_graphs import judged_graph
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
# Characters of names in a folder's.
_LONGEST = 60


def make_report(results: Sequence[Reported], *, seed: int = 0) -> "Report":
    """Put what results found together: no model is asked.

    What is unknown comes first, then how much is known, then the rest: by relation, entity, type, popularity and year;
    errors with examples; outdated answers; each asked fact. Of several results also what they say of the facts that
    they share, where they disagree, what is known in one way of asking or one direction alone, and facts that several
    models deny.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> report = kgprobe.make_report([made])
    >>> report.title, len(report.facts_frame())
    ('Facts that Gemma 3 270M does not know', 4)

    Cost: reading all answers; a walk from each asked subject. Memory: the asked facts.

    Args:
        results: runs, measurements and judged graphs; :func:`open_result` opens the first two, with the graph that was
            asked, :func:`judged_graph` the last.
        seed: of the bootstrap, for what probes measure beside right and wrong.

    Raises:
        ArgumentError: there is none, one is there twice, or one was opened without its graph.
        KgprobeError: one has no answer yet.
    """
    from kgprobe.analysis.examined import examine
    from kgprobe.analysis.side_by_side import labels_of
    from kgprobe.results.finding_page import finding_lead, finding_title, result_sections
    from kgprobe.results.report import Report

    seed = whole_number("seed", seed, 0)
    judged = [one for one in results if isinstance(one, JudgedGraph)]
    asked = [one for one in results if not isinstance(one, JudgedGraph)]
    _refuse(results)
    labels = labels_of([answers_of(one) for one in asked])
    examined = [
        examine(one.graph, label, one.finding(), one.outcomes, one.kind.alternatives)
        for one, label in zip(asked, labels, strict=True)
    ]
    sections: list[Section] = []
    lead: list[str] = []
    extra: dict[str, Any] = {}
    if len(examined) == 1:
        sections, lead = result_sections(examined[0]), finding_lead(examined[0].finding)
    elif examined:
        sections, lead, extra = _side_by_side(asked, examined, seed)
    sections += [section for one in judged for section in _judged_sections(one)]
    lead += [one.summary() for one in judged]
    config = {"results": [str(one.folder) for one in results], "seed": seed}
    return Report(
        title=_title(examined, judged) if len(examined) != 1 else finding_title(examined[0].finding),
        lead=lead,
        sections=sections,
        examined=examined,
        judged=judged,
        extra=extra,
        config=config,
        folder=home() / "reports" / f"{_called(results)}-{digest_of(config)}",
    )


def open_any(name: str | Path, graph: Graph | None = None) -> Reported:
    """A result by its folder or its name: a judged graph, a measurement, or a run.

    Raises:
        UnknownNameError: there is none.
        KgprobeError: another version of kgprobe began the run.
    """
    folder = judged_folder(name)
    return judged_graph(folder) if folder is not None else open_result(name, graph)


def judged_folder(name: str | Path) -> Path | None:
    """Return the folder of a judged graph, by its name below kgprobe's own or by its path; None where there is none."""
    from kgprobe.judge.judged_facts import is_sweep

    own, path = home() / "sweeps" / name, Path(name)
    # A damaged one counts below kgprobe's own: opening it names the damage.
    if not is_path(name) and (own / CONFIG).exists():
        return own
    return path if is_sweep(path) else None


def latest_result(graph: Graph) -> Stored:
    """Return the run or the measurement of a graph to which an answer came last.

    A folder of a measurement that cannot be read is named on stderr, and left out.

    Raises:
        UnknownNameError: there is none.
    """
    uid = msgspec.json.decode(graph_state(graph))["uid"]
    found: list[Stored] = [open_run(graph, run["id"]) for run in runs_of(graph)[-1:]]
    for path in sorted((home() / "probes").glob(f"*/{FILE}")):
        measured = _measurement_of(graph, uid, path.parent)
        if measured is not None:
            found.append(measured)
    answered = [one for one in found if (one.folder / FILE).is_file()]
    if not answered:
        raise UnknownNameError(
            "There are no results of this graph yet; `kgprobe probe distractors --model demo` makes one."
        )
    return max(answered, key=lambda one: (one.folder / FILE).stat().st_mtime)


def _measurement_of(graph: Graph, uid: str, folder: Path) -> Measurement | None:
    """Return a folder's measurement; None where it is of another graph, or damaged, which is told."""
    try:
        return open_measurement(folder, graph) if graph_of_measurement(folder) == uid else None
    except KgprobeError as error:
        print_message(f"{folder.name} is left out: {error}")
        return None


def _called(results: Sequence[Reported]) -> str:
    """What a report's folder begins with: as many of the results' names as fit."""
    names = [one.name if isinstance(one, Run) else one.folder.name for one in results]
    return "-".join(names)[:_LONGEST].rstrip("-. ")


def _refuse(results: Sequence[Reported]) -> None:
    if not results:
        raise ArgumentError("results", "is empty; a run, a measurement or a judged graph is expected.")
    folders = [one.folder.resolve() for one in results]
    for result, folder in zip(results, folders, strict=True):
        if folders.count(folder) > 1:
            raise ArgumentError("results", f"has the same result twice: {folder}.")
        if not isinstance(result, JudgedGraph) and result.graph is None:
            raise ArgumentError(
                "results", f"has {folder.name}, opened without its graph: open_result(name, `graph`) opens it with."
            )


def _title(examined: "Sequence[Examined]", judged: Sequence[JudgedGraph]) -> str:
    from kgprobe.models.spec_forms import model_name
    from kgprobe.results.side_by_side import results_title

    if examined:
        return results_title(examined)
    models = list(dict.fromkeys(model_name(one.config.judge.answers_of) for one in judged))
    return f"What {' and '.join(models)} would say of a whole graph"


def _side_by_side(
    asked: Sequence[Stored], examined: "Sequence[Examined]", seed: int
) -> "tuple[list[Section], list[str], dict[str, Any]]":
    """Sections, first sentences, and what programs get beside, of two results or more."""
    from kgprobe.report.sections import Section, table_section
    from kgprobe.results.finding_page import result_sections
    from kgprobe.results.side_by_side import (
        comparison_sections,
        disagreement_section,
        disagreements,
        results_lead,
        suspects_section,
        unknown_section,
        unknown_to_all,
    )

    lead, notes = results_lead(examined), list[str]()
    unknown = unknown_to_all(examined)
    compared = _compared(asked, seed, notes)
    shared = 0 if compared is None else len(compared.figures.beside.facts)
    sections = [unknown_section(unknown, shared)]
    extra: dict[str, Any] = {"unknown_to_all": unknown}
    if compared is None:
        lead.insert(0, notes.pop())
    else:
        lead[:0] = filter(None, [compared.unshared])
        labels = compared.figures.labels
        apart = disagreements(compared.facts_frame(), labels)
        lead.append(compared.summary())
        notes += compared.notes
        sections += comparison_sections(compared.figures.beside, compared.tables())
        sections.append(disagreement_section(apart, labels, shared))
        extra |= {"comparison": compared.to_dict(), "disagreements": apart}
    gaps = _gaps(asked, notes)
    for gap in gaps:
        # Of two gaps it has to be said which is meant.
        of = "" if len(gaps) == 1 else f"{Path(gap.config['stored']).name} and {Path(gap.config['said']).name}: "
        lead.append(f"{of}{gap.summary()}")
        sections += [
            replace(table_section(replace(table, title=f"{of}{table.title}")), short="Known and not said")
            for table in gap.tables()
        ]
    directions = [] if compared is not None and compared.directions else _directions(asked, seed)
    for pair in directions:
        sections += [table_section(table) for table in pair.tables() if table.key in _OF_DIRECTIONS]
    suspects = _suspects(asked)
    if suspects is not None:
        sections.append(suspects_section(suspects, len({one.model for one in asked})))
    if notes:
        sections.append(Section("text", "What to mind", {"paragraphs": list(dict.fromkeys(notes))}))
    for one in examined:
        its = result_sections(one)
        # The list of contents names each result once.
        sections += [
            replace(section, title=section.title and f"{one.label}: {section.title}", short=one.label, listed=not place)
            for place, section in enumerate(its)
        ]
    extra |= {
        "gaps": [gap.to_dict() for gap in gaps],
        "directions": [pair.to_dict()["directions"] for pair in directions],
        "suspects": suspects or [],
    }
    return sections, lead, extra


_OF_DIRECTIONS = ("directions", "forwards_alone", "backwards_alone")


def _compared(asked: Sequence[Stored], seed: int, notes: list[str]) -> "Comparison | None":
    """All results on the facts that they share; None, with a note, where there is no such fact."""
    try:
        return compare(asked, seed=seed)
    except ArgumentError:
        raise
    except KgprobeError as error:
        notes.append(str(error))
        return None


def _gaps(asked: Sequence[Stored], notes: list[str]) -> "list[KnowledgeGap]":
    """What a model holds and does not say, for each two results of it that are asked in these two ways."""
    found = []
    for one, other in combinations(asked, 2):
        stored, said = (one, other) if one.kind.asks == "scores" else (other, one)
        if (stored.kind.asks, said.kind.asks) != ("scores", "answers") or one.model != other.model:
            continue
        try:
            found.append(find_gap(stored, said))
        except KgprobeError as error:
            message = str(error).removeprefix("`said` ")
            notes.append(f"What {said.model} holds and does not say cannot be told: {said.folder.name} {message}")
    return found


def _directions(asked: Sequence[Stored], seed: int) -> "list[Comparison]":
    """Forwards and backwards, for each two results of one model and probe that differ in the direction."""
    found = []
    for one, other in combinations(asked, 2):
        if one.reversed != other.reversed and (one.model, one.kind.name) == (other.model, other.kind.name):
            compared = _compared([one, other], seed, [])
            if compared is not None:
                found.append(compared)
    return found


def _suspects(asked: Sequence[Stored]) -> list[dict[str, Any]] | None:
    """Facts that several of these runs' models deny; None where there are no runs of two models in one graph."""
    runs = [one for one in asked if isinstance(one, Run) and not one.reversed]
    if len({run.model for run in runs}) < 2 or len({id(run.graph) for run in runs}) > 1:
        return None
    wanted = {"runs": [run.name for run in runs], "models": 2, "around": 3, "candidates": 1_000, "limit": _SUSPECTS}
    found = runs[0].graph.read("explore/suspects", **wanted)
    return [{column: value for column, value in row.items() if column != "path"} for row in found]


def _judged_sections(judged: JudgedGraph) -> "list[Section]":
    """What a judge would say of a whole graph."""
    from kgprobe.report.sections import Section, table_section

    label = f"{judged.config.judge.answers_of}, judged"
    sections = [
        Section("text", f"{label}: the whole graph", {"paragraphs": [judged.summary(), *judged.notes]}, of=label)
    ]
    tables = [table_section(table) for table in judged.tables()]
    return sections + [
        replace(section, title=f"{label}: {section.title}", of=label, listed=False) for section in tables
    ]
