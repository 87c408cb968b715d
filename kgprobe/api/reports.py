"""``kgprobe.make_report``: stored runs, measurements and judged graphs on one page."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kgprobe.api.comparing import open_result
from kgprobe.api.judging import judged_graph
from kgprobe.api.measuring import find_measurement, is_path, open_measurement
from kgprobe.api.rounds import open_run, runs_of
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.progress import print_message
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.results.measurement import Measurement
from kgprobe.running.measurement import graph_of_measurement
from kgprobe.running.settings import CONFIG
from kgprobe.running.store import FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.results.answers import Stored
    from kgprobe.results.report import Report, Reported


def make_report(results: "Sequence[Reported]", *, seed: int = 0) -> "Report":
    """Combine results on one page; no model is loaded.

    The share that is known comes first, as a title and a bar of the whole graph, with the least known relations; then a
    map by type, unknown facts, rates by relation, entity, type, popularity and year, errors with examples, outdated
    answers, and all asked facts. Several results are compared in a matrix of facts and models, and on shared facts:
    facts known by one probe or in one direction only, and facts that several models deny.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> report = kgprobe.make_report([made])
    >>> report.title, len(report.facts_frame())
    ('Gemma 3 270M knows ...% [..., ...] of the 4 facts asked', 4)

    Cost: reading all answers; a walk from each asked subject. Memory: the asked facts.

    Args:
        results: runs, measurements and judged graphs; :func:`open_result` opens the first two, with their graph,
            :func:`judged_graph` the last.
        seed: seed of the bootstrap of other metrics than accuracy.

    Raises:
        ArgumentError: no results, one of them twice, or one opened without its graph.
        KgprobeError: a result has no answers.
    """
    from kgprobe.results.answers import refuse_repeated
    from kgprobe.results.report import report_on

    seed = whole_number("seed", seed, 0)
    if not results:
        raise ArgumentError("results", "is empty; expected runs, measurements or judged graphs.")
    refuse_repeated("results", results)
    for result in results:
        if not isinstance(result, JudgedGraph) and result.graph is None and not is_of_dataset(result):
            raise ArgumentError(
                "results", f"has {result.folder.name}, opened without its graph; use open_result(name, `graph`)."
            )
    return report_on(results, seed)


def is_of_dataset(result: "Stored") -> bool:
    """Return True for a measurement of a data set, which needs no graph."""
    return isinstance(result, Measurement) and result.dataset is not None


def needs_graph(name: str | Path) -> bool:
    """Return True if a result can only be opened for a report with its graph: a run, or a measurement of a graph."""
    if judged_folder(name) is not None:
        return False
    folder = find_measurement(name)
    return folder is None or not is_of_dataset(open_measurement(folder))


def open_any(name: str | Path, graph: Graph | None = None) -> "Reported":
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


def latest_result(graph: Graph) -> "Stored":
    """Return the run or measurement of a graph with the latest answer.

    An unreadable folder is reported on stderr and skipped.

    Raises:
        UnknownNameError: the graph has no results.
    """
    uid = msgspec.json.decode(graph_state(graph))["uid"]
    results: list[Stored] = [open_run(graph, run["id"]) for run in runs_of(graph)[-1:]]
    for path in sorted((home() / "probes").glob(f"*/{FILE}")):
        folder = path.parent
        try:
            if graph_of_measurement(folder) == uid:
                results.append(open_measurement(folder, graph))
        except KgprobeError as error:
            print_message(f"{folder.name} is skipped: {error}")
    answered = [result for result in results if (result.folder / FILE).is_file()]
    if not answered:
        raise UnknownNameError("This graph has no results yet; `kgprobe probe distractors --model demo` makes one.")
    return max(answered, key=lambda result: (result.folder / FILE).stat().st_mtime)
