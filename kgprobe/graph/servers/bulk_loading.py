"""Bulk loading: files for Neo4j's import, for sources that are too large for transactions."""

import shutil
from pathlib import Path

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.bulk.bulk_files import BulkFiles, finish, read_bulk_files
from kgprobe.graph.bulk.converting import convert
from kgprobe.graph.endpoint import is_address
from kgprobe.graph.loading import LoadProgress, LoadReport, OnProblem, OnProgress, keeping, measuring, report_of
from kgprobe.graph.servers.bulk_import import STAGES, import_files, reserved_for_import
from kgprobe.graph.servers.folder import Folder
from kgprobe.graph.servers.leases import take_lease
from kgprobe.graph.servers.opening import folder_of
from kgprobe.sources.contract import Source

# Subfolder of the graph's folder for temporary files.
_FILES = "bulk"


def load_bulk_source(
    graph: str | Path | None,
    source: Source,
    *,
    bulk_files: str | Path | None = None,
    strict: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = lambda progress: None,
) -> LoadReport:
    """Load an open source; otherwise as :func:`kgprobe.load_bulk`."""
    if isinstance(graph, str) and is_address(graph):
        raise ArgumentError(
            "graph",
            f"is {graph}, a running server; only its administrator can run the import. `bulk_files` writes the files"
            " for it.",
        )
    folder = folder_of(graph)
    place = folder.path / _FILES if bulk_files is None else Path(bulk_files)
    problems: list[str] = []
    with reserved_for_import(folder):
        files = _written(source, place, strict, is_own=bulk_files is None)
        resumed = files is not None
        if files is None:
            files = _convert(source, place, strict, problems, on_problem, on_progress)
        _import(folder, place, files, on_progress)
    if bulk_files is None:
        shutil.rmtree(place)
    return report_of(files.source, files.records, problems, files.records.not_loaded, resumed=resumed)


def _import(folder: Folder, place: Path, files: BulkFiles, on_progress: OnProgress) -> None:
    """Import files into a reserved folder, and finish the graph."""
    import_files(folder, place, files, lambda percent: on_progress(LoadProgress("importing", 0, percent, 100 * STAGES)))
    with take_lease(folder, unfinished=True).connect() as graph:
        finish(graph, place, lambda stage, done, total: on_progress(LoadProgress(stage, 0, done, total)))
    folder.remove_import()


def write_bulk_source(
    bulk_files: str | Path,
    source: Source,
    *,
    strict: bool = False,
    on_problem: OnProblem = lambda message: None,
    on_progress: OnProgress = lambda progress: None,
) -> LoadReport:
    """Write an open source; otherwise as :func:`kgprobe.write_bulk`."""
    problems: list[str] = []
    files = _convert(source, Path(bulk_files), strict, problems, on_problem, on_progress)
    if not any(files.records.written.values()):
        # An import of nothing would empty a database.
        shutil.rmtree(bulk_files)
    return report_of(files.source, files.records, problems, files.records.not_loaded, resumed=False)


def _written(source: Source, place: Path, strict: bool, is_own: bool) -> BulkFiles | None:
    """Return usable files of this source; None if there are none.

    Args:
        is_own: True for the graph's own folder: files of another source are deleted.
    """
    if not place.exists():
        return None
    try:
        files = read_bulk_files(place)
    except KgprobeError:
        files = None
    if files is not None and files.fingerprint == source.fingerprint:
        if not (strict and any(files.records.problems.values())):
            return files
    elif not is_own:
        raise ArgumentError("bulk_files", f"is {place}, which has other files; name a new folder.")
    shutil.rmtree(place)
    return None


def _convert(
    source: Source, place: Path, strict: bool, problems: list[str], on_problem: OnProblem, on_progress: OnProgress
) -> BulkFiles:
    if place.exists():
        raise ArgumentError("bulk_files", f"is {place}, which exists; name a new folder.")
    return convert(
        source,
        place,
        strict=strict,
        report_problem=keeping(problems, on_problem),
        report_progress=measuring(source, on_progress),
    )
