"""``kgprobe.kept_results``: all that kgprobe keeps on this machine, and an index of it as a page."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import home, read_json
from kgprobe.results.kept import Kept, KeptResults


def kept_results() -> KeptResults:
    """Everything that was asked, measured, compared, studied, judged and reported on this machine.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="kept")
    >>> [(one.kind, one.name) for one in kgprobe.kept_results().results if one.name == "kept"]
    [('measurement', 'kept')]

    Cost: reading what each says of itself; the answers are not read. What cannot be read is told in a note.
    """
    found: list[Kept] = []
    notes: list[str] = []
    for below, (kind, read) in _KINDS.items():
        for folder in sorted((home() / below).glob("*")):
            if not folder.is_dir():
                continue
            try:
                found += read(kind, folder)
            except (KgprobeError, OSError) as error:
                notes.append(f"{folder} cannot be read: {error}")
    found.sort(key=lambda one: (one.changed, one.name), reverse=True)
    return KeptResults(results=found, notes=notes)


class _Told(msgspec.Struct):
    """What files of results say first, each in its own words."""

    name: str = ""
    headline: str = ""
    headline_details: str | None = None
    verdict: str = ""
    summary: str = ""
    title: str = ""
    lead: list[str] = []


def _read(folder: Path, file: str) -> _Told | None:
    try:
        return read_json(folder / file, _Told, "Delete it; the next page writes it again.")
    except FileNotFoundError:
        return None


def _changed(folder: Path) -> datetime:
    files = [file.stat().st_mtime for file in folder.iterdir() if file.is_file()]
    return datetime.fromtimestamp(max(files, default=folder.stat().st_mtime), timezone.utc).astimezone()


def _kept(kind: str, folder: Path, name: str, told: str, page: str = "", writes: str = "") -> Kept:
    path = folder / page if page and (folder / page).exists() else None
    return Kept(kind, name, told, _changed(folder), folder, path, writes)


def _headline(told: _Told | None) -> str:
    if told is None:
        return ""
    return f"{told.headline}; {told.headline_details}" if told.headline_details else told.headline


def _run(kind: str, folder: Path) -> Iterator[Kept]:
    # A run's folder is called by its name and by its number in its graph.
    told = _read(folder, "results.json")
    name = told.name if told else folder.name.rsplit("-", 1)[0]
    yield _kept(kind, folder, name, _headline(told), "finding.html", f"kgprobe report {name}")


def _measurement(kind: str, folder: Path) -> Iterator[Kept]:
    if (folder / "config.json").exists():
        told = _read(folder, "results.json")
        yield _kept(kind, folder, folder.name, _headline(told), "finding.html", f"kgprobe report {folder.name}")


def _study(kind: str, folder: Path) -> Iterator[Kept]:
    told = _read(folder, "study.json")
    if told:
        yield _kept(kind, folder, folder.name, f"{told.title}: {told.verdict}", "study.html")


def _comparison(kind: str, folder: Path) -> Iterator[Kept]:
    for name in ("comparison", "forgetting", "gap"):
        told = _read(folder, f"{name}.json")
        if told:
            yield _kept(kind, folder, folder.name, told.summary or told.verdict, f"{name}.html")


def _sweep(kind: str, folder: Path) -> Iterator[Kept]:
    from kgprobe.judge.judged_facts import read_sweep

    config = read_sweep(folder)
    told = f"{config.judge.answers_of}, judged on {config.facts:,} facts"
    yield _kept(kind, folder, folder.name, told, writes=f"kgprobe report {folder.name}")


def _judge(kind: str, folder: Path) -> Iterator[Kept]:
    from kgprobe.judge.files import FILE

    if (folder / FILE).exists():
        yield _kept(kind, folder, folder.name, "")


def _report(kind: str, folder: Path) -> Iterator[Kept]:
    told = _read(folder, "report.json")
    if told:
        yield _kept(kind, folder, folder.name, " ".join([f"{told.title}:", *told.lead]), "report.html")


_KINDS: Mapping[str, tuple[str, Callable[[str, Path], Iterator[Kept]]]] = {
    "runs": ("run", _run),
    "probes": ("measurement", _measurement),
    "comparisons": ("comparison", _comparison),
    "studies": ("study", _study),
    "sweeps": ("judged graph", _sweep),
    "judges": ("judge", _judge),
    "reports": ("report", _report),
}
