"""``kgprobe.kept_results``: list of all results on this machine, and an index page."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import home, read_json
from kgprobe.results.kept import Kept, KeptResults


def kept_results() -> KeptResults:
    """List all runs, measurements, comparisons, studies, judged graphs, judges and reports on this machine.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="kept")
    >>> [(result.kind, result.name) for result in kgprobe.kept_results().results if result.name == "kept"]
    [('measurement', 'kept')]

    Cost: reading each result's summary file; answers are not read. Unreadable results are reported in notes.
    """
    results: list[Kept] = []
    notes: list[str] = []
    for below, (kind, read) in _KINDS.items():
        for folder in sorted((home() / below).glob("*")):
            if not folder.is_dir():
                continue
            try:
                results += read(kind, folder)
            except (KgprobeError, OSError) as error:
                notes.append(f"{folder} cannot be read: {error}")
    results.sort(key=lambda result: (result.changed, result.name), reverse=True)
    return KeptResults(results=results, notes=notes)


class _Summary(msgspec.Struct):
    """Summary fields of the files of results; each kind has some of them."""

    name: str = ""
    headline: str = ""
    headline_details: str | None = None
    verdict: str | None = None
    summary: str = ""
    title: str = ""
    lead: list[str] = []


def _read(folder: Path, file: str) -> _Summary | None:
    try:
        return read_json(folder / file, _Summary, "Delete it; the next page writes it again.")
    except FileNotFoundError:
        return None


def _changed(folder: Path) -> datetime:
    files = [file.stat().st_mtime for file in folder.iterdir() if file.is_file()]
    return datetime.fromtimestamp(max(files, default=folder.stat().st_mtime), timezone.utc).astimezone()


def _kept(kind: str, folder: Path, name: str, headline: str, page: str = "", writes: str = "") -> Kept:
    path = folder / page if page and (folder / page).exists() else None
    return Kept(kind, name, _changed(folder), headline, folder, path, writes)


def _headline(summary: _Summary | None) -> str:
    if summary is None:
        return ""
    return f"{summary.headline}; {summary.headline_details}" if summary.headline_details else summary.headline


def _run(kind: str, folder: Path) -> Iterator[Kept]:
    # The name of a run's folder is the run's name and its number in its graph.
    summary = _read(folder, "results.json")
    name = summary.name if summary else folder.name.rsplit("-", 1)[0]
    yield _kept(kind, folder, name, _headline(summary), "finding.html", f"kgprobe report {name}")


def _measurement(kind: str, folder: Path) -> Iterator[Kept]:
    if (folder / "config.json").exists():
        summary = _read(folder, "results.json")
        yield _kept(kind, folder, folder.name, _headline(summary), "finding.html", f"kgprobe report {folder.name}")


def _study(kind: str, folder: Path) -> Iterator[Kept]:
    summary = _read(folder, "study.json")
    if summary:
        yield _kept(kind, folder, folder.name, f"{summary.title}: {summary.verdict}", "study.html")


def _comparison(kind: str, folder: Path) -> Iterator[Kept]:
    for name in ("comparison", "forgetting", "gap", "roles", "task_comparison", "task_losses"):
        summary = _read(folder, f"{name}.json")
        if summary:
            yield _kept(kind, folder, folder.name, summary.summary or str(summary.verdict), f"{name}.html")


def _judged_graph(kind: str, folder: Path) -> Iterator[Kept]:
    from kgprobe.judge.judged_facts import read_judged_graph

    config = read_judged_graph(folder)
    headline = f"{config.judge.answers_of}, judged on {config.facts:,} facts"
    yield _kept(kind, folder, folder.name, headline, writes=f"kgprobe report {folder.name}")


def _judge(kind: str, folder: Path) -> Iterator[Kept]:
    from kgprobe.judge.files import FILE

    if (folder / FILE).exists():
        yield _kept(kind, folder, folder.name, "")


def _report(kind: str, folder: Path) -> Iterator[Kept]:
    summary = _read(folder, "report.json")
    if summary:
        yield _kept(kind, folder, folder.name, " ".join([f"{summary.title}:", *summary.lead]), "report.html")


_KINDS: Mapping[str, tuple[str, Callable[[str, Path], Iterator[Kept]]]] = {
    "runs": ("run", _run),
    "probes": ("measurement", _measurement),
    "comparisons": ("comparison", _comparison),
    "studies": ("study", _study),
    "judged": ("judged graph", _judged_graph),
    "judges": ("judge", _judge),
    "reports": ("report", _report),
}
