"""The register of stored results: kind, folder below kgprobe's own, recognition, headline, page, opening.

The name of a result is the name of its folder in the kind's folder below ``KGPROBE_HOME``; the folder of a run ends
with the run's number in its graph, which is not a part of the name.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError, expected_one_of
from kgprobe.base.files import home, read_json
from kgprobe.models.spec_forms import model_name
from kgprobe.results.kind_names import (
    COMPARISON,
    DATASET,
    JUDGE,
    JUDGED_GRAPH,
    LABEL_TABLE,
    MEASUREMENT,
    REPORT,
    RUN,
    STUDY,
)
from kgprobe.results.result import REPEAT, StoredResult, read_result

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.results.measurement import Run

CONFIG = "config.json"
_REMEDY = "Restore the file, or delete the result."
_RUN_FOLDER = re.compile(r"(.+)-[0-9a-f]{8}")
# Classes of stored results by the name of their JSON; studies have names of their own.
_CLASSES = {
    "calibration": "kgprobe.results.calibration:ConfidenceCalibration",
    "comparison": "kgprobe.results.comparison:Comparison",
    "forgetting": "kgprobe.results.forgetting:Forgetting",
    "gap": "kgprobe.results.knowledge_gap:KnowledgeGap",
    "judges": "kgprobe.results.judge:JudgeComparison",
    "label_comparison": "kgprobe.labelling.label_comparison:LabelComparison",
    "refusals": "kgprobe.results.refusals:RefusalDiagnosis",
    "rates": "kgprobe.results.rate_table:RateTable",
    "report": "kgprobe.results.report:StoredReport",
    "roles": "kgprobe.labelling.role_effects:RoleComparison",
    "task_comparison": "kgprobe.task_logs.task_comparison:TaskComparison",
    "task_losses": "kgprobe.task_logs.task_comparison:TaskLosses",
}


@dataclass(frozen=True, slots=True)
class Description:
    """What the files of a result say of it.

    Attributes:
        headline: the result in a sentence; empty if it has none yet.
        models: specs of its models; empty for those of the results that it was made from.
        graphs: states of its graphs, see :func:`kgprobe.graph.state.graph_state`; likewise.
        uses: folders of the stored results that it was made from.
    """

    headline: str
    models: Sequence[str] = ()
    graphs: Sequence[str] = ()
    uses: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stored results.

    Attributes:
        name: name of the kind.
        folder: name of its folder below kgprobe's own.
        holds: returns True for a folder with a result of the kind. Raises KgprobeError for an unreadable one.
        describe: returns what its files say of it.
        opens: opens a folder of the kind, with the graph if it is given.
        page: file of its page; empty if it has none.
        has_parts: True if the measurements that it was made from are a part of it.
    """

    name: str
    folder: str
    holds: Callable[[Path], bool]
    describe: Callable[[Path], Description]
    opens: Callable[[Path, "Graph | None"], Any]
    page: str = ""
    has_parts: bool = False

    @property
    def place(self) -> Path:
        """Folder of its results below kgprobe's own."""
        return home() / self.folder

    def has(self, folder: Path) -> bool:
        """Return True for a result in the kind's place; also for a damaged one, whose opening reports the damage."""
        # Unlike Path.is_dir, this is False for a name that is too long.
        return os.path.isdir(folder) and ((folder / CONFIG).exists() or self.holds(folder))


class Summary(msgspec.Struct):
    """Summary fields of the files of results; each kind has some of them."""

    headline: str = ""
    headline_details: str | None = None
    verdict: str | None = None
    summary: str = ""
    title: str = ""
    lead: list[str] = []
    rounds: int | None = None
    questions: int | None = None
    reversed: bool = False
    model: str = ""
    graph: str = ""
    config: dict[str, Any] = {}


def read_summary(path: Path) -> Summary:
    """Return the summary in a file; an empty one if there is no file."""
    try:
        return read_json(path, Summary, "Delete it; the next page writes it again.")
    except FileNotFoundError:
        return Summary()


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder, whatever its kind.

    Raises:
        FileNotFoundError: it has none.
        KgprobeError: the file is damaged.
    """
    return read_json(folder / CONFIG, dict[str, Any], _REMEDY)


def _setting(name: str) -> Callable[[Path], bool]:
    """Return a function that returns True for a folder whose ``config.json`` has this setting."""

    def has_setting(folder: Path) -> bool:
        try:
            return name in read_settings(folder)
        except FileNotFoundError:
            return False

    return has_setting


def _file(name: str) -> Callable[[Path], bool]:
    """Return a function that returns True for a folder with this file."""
    return lambda folder: (folder / name).is_file()


def _is_run(folder: Path) -> bool:
    # A run in its first round has no file yet.
    if folder.parent == home() / "runs":
        return folder.is_dir() and _RUN_FOLDER.fullmatch(folder.name) is not None
    return (
        (folder / "results.json").is_file() and (folder / "outcomes.jsonl").is_file() and not (folder / CONFIG).exists()
    )


def comparison_file(folder: Path) -> str:
    """Return the name of a comparison's JSON and page, without ending; empty if the folder has none."""
    pages = sorted(folder.glob("*.html"))
    return next((page.stem for page in pages if page.with_suffix(".json").is_file()), "")


def _is_comparison(folder: Path) -> bool:
    return folder.parent == home() / "comparisons" and comparison_file(folder) != ""


def finding_headline(folder: Path) -> str:
    """Return the headline of a finding next to the answers; empty if none was written."""
    summary = read_summary(folder / "results.json")
    return "; ".join(filter(None, [summary.headline, summary.headline_details]))


def _measurement(folder: Path) -> Description:
    settings = read_settings(folder)
    if "probe" not in settings or "model" not in settings.get("described", {}):
        raise KgprobeError(f"{folder / CONFIG} names neither model nor probe.")
    model, dataset = str(settings["described"]["model"]), settings.get("dataset")
    headline = finding_headline(folder) or f"{model_name(model)}, {settings['probe']}"
    uses = () if dataset is None else (home() / "datasets" / str(dataset["name"]),)
    return Description(headline, (model,), (str(settings.get("graph", "")),), uses)


def _run(folder: Path) -> Description:
    summary = read_summary(folder / "results.json")
    return Description(finding_headline(folder), tuple(filter(None, [summary.model])), (summary.graph,))


def _judge(folder: Path) -> Description:
    from kgprobe.judge.files import load_judge

    judge = load_judge(folder)
    headline = f"{judge.classifier.kind} judge of {model_name(judge.answers_of)}, on states of layer {judge.layer}"
    uses = [home() / "probes" / str(judge.training["labels"])] if "labels" in judge.training else []
    return Description(headline, (judge.answers_of,), (str(judge.labels.get("graph", "")),), uses)


def _judged_graph(folder: Path) -> Description:
    from kgprobe.judge.judged_facts import read_judged_graph

    config = read_judged_graph(folder)
    headline = f"{model_name(config.judge.answers_of)}, judged on {config.facts:,} facts"
    uses = (home() / "probes" / config.judge.labels,)
    return Description(headline, (config.judge.answers_of,), (config.graph,), uses)


def _comparison(folder: Path) -> Description:
    summary = read_summary(folder / f"{comparison_file(folder)}.json")
    sentence = (summary.summary or summary.verdict or "").partition(". ")[0]
    return Description(sentence, uses=_folders(summary.config))


def _study(folder: Path) -> Description:
    summary = read_summary(folder / "study.json")
    graphs = tuple(filter(None, [str(summary.config.get("graph") or "")]))
    return Description(f"{summary.title}: {summary.verdict}", graphs=graphs, uses=_folders(summary.config))


def _report(folder: Path) -> Description:
    summary = read_summary(folder / "report.json")
    return Description(" ".join([f"{summary.title}:", *summary.lead]), uses=_folders(summary.config))


def _folders(config: object) -> list[Path]:
    """Return the paths below kgprobe's own folder in settings."""
    paths = map(Path, texts_in(config))
    return [path for path in paths if path.is_absolute() and path.is_relative_to(home())]


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a value, in its lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(inner)


def run_name(folder: Path) -> str:
    """Return the name of a run from its folder."""
    numbered = _RUN_FOLDER.fullmatch(folder.name)
    return folder.name if numbered is None else numbered[1]


def _open_measurement(folder: Path, graph: "Graph | None") -> Any:
    return resolve_name("kgprobe.results.measurement:open_measurement")(folder, graph)


def _open_run(folder: Path, graph: "Graph | None") -> "Run":
    name = run_name(folder)
    if graph is None:
        raise ArgumentError("graph", f"is missing: the run {name!r} opens with the graph that it asked.")
    run: Run = resolve_name("kgprobe.results.measurement:open_run")(graph, name)
    if run.folder.resolve() != folder.resolve():
        raise UnknownNameError(f"The run in {folder} is not of this graph, whose run {name!r} is in {run.folder}.")
    return run


def _by_name(function: str) -> Callable[..., Any]:
    """Return a function of a room below by ``module:function``, which is imported at the first call."""
    return lambda folder, *_: resolve_name(function)(folder)


def _open_files(file: str, folder: Path, graph: "Graph | None") -> StoredResult:  # noqa: ARG001 (as all openers)
    """Return a stored result from its JSON, by default that of a comparison.

    Raises:
        KgprobeError: the file is missing or damaged, or of an unknown kind.
    """
    file = file or comparison_file(folder)
    path = folder / f"{file}.json"
    try:
        content = read_json(path, dict[str, Any], REPEAT)
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} does not exist. {REPEAT}") from error
    if file == "study":
        kind: type[StoredResult] = resolve_name("kgprobe.papers.studies.study:study_class")(content.get("name", ""))
    elif file in _CLASSES:
        kind = resolve_name(_CLASSES[file])
    else:
        raise KgprobeError(f"{path} is of an unknown kind of comparison; {expected_one_of(file, _CLASSES)}.")
    return read_result(kind, folder, content)


_STORED = (
    Kind(MEASUREMENT, "probes", _setting("probe"), _measurement, _open_measurement, "finding.html"),
    Kind(RUN, "runs", _is_run, _run, _open_run, "finding.html"),
    Kind(
        LABEL_TABLE,
        "labels",
        _setting("ways"),
        _by_name("kgprobe.labelling.settings:describe_labels"),
        _by_name("kgprobe.labelling.labels:read_labels"),
        "labels.html",
        has_parts=True,
    ),
    Kind(JUDGE, "judges", _file("judge.safetensors"), _judge, _by_name("kgprobe.judge.files:load_judge")),
    Kind(
        JUDGED_GRAPH, "judged", _setting("shards"), _judged_graph, _by_name("kgprobe.results.judged_graph:read_figures")
    ),
    Kind(
        DATASET,
        "datasets",
        lambda folder: any(folder.glob("data/test.*")),
        lambda folder: Description(f"in {folder.resolve()}"),
        _by_name("kgprobe.datasets.results:open_dataset"),
    ),
    Kind(COMPARISON, "comparisons", _is_comparison, _comparison, partial(_open_files, "")),
    Kind(STUDY, "studies", _file("study.json"), _study, partial(_open_files, "study"), "study.html", has_parts=True),
    Kind(REPORT, "reports", _file("report.json"), _report, partial(_open_files, "report"), "report.html"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _STORED}


@dataclass(frozen=True, slots=True)
class Found:
    """A stored result, not opened yet.

    Attributes:
        folder: its folder, which a run of another machine does not have here.
    """

    kind: Kind
    name: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.kind.name} {self.name}"

    def open(self, graph: "Graph | None" = None) -> Any:
        """Open the result, with its graph if it needs one."""
        return self.kind.opens(self.folder, graph)
