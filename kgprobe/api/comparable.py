"""Kinds of results that can be compared, and how their names are opened."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgprobe.api.measuring import find_measurement, is_path, open_measurement, unmeasured
from kgprobe.api.rounds import open_run
from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.models.spec_forms import is_spec

if TYPE_CHECKING:
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.table import LabelTable
    from kgprobe.results.answers import Stored
    from kgprobe.results.labels import Labels
    from kgprobe.task_logs.log import ModelLog

    Comparable: TypeAlias = Stored | LabelTable | Labels | Judge | ModelLog

# Kinds, as messages name them; a measurement can be compared with a run.
ANSWERS, LABEL_TABLE, JUDGE, LOG = "measurement or run", "label table", "judge", "log of another tool"
# Options that not all kinds have.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "seed": (ANSWERS, LOG),
    "families": (ANSWERS,),
    "roles": (ANSWERS,),
    "metrics": (LOG,),
    "scheme": (LABEL_TABLE,),
    "models": (JUDGE,),
}


def kind_of(result: "Comparable | str | Path") -> str:
    """Return the kind of a result, which a name without a result of another kind may have: that of a run.

    Raises:
        UnknownNameError: it is the path of a folder or file without a result.
    """
    if isinstance(result, (str, Path)):
        return _kind_of_name(result)
    from kgprobe.judge.files import Judge
    from kgprobe.results.measurement import Measurement, Run
    from kgprobe.task_logs.log import ModelLog

    if isinstance(result, (Measurement, Run)):
        return ANSWERS
    if isinstance(result, Judge):
        return JUDGE
    return LOG if isinstance(result, ModelLog) else LABEL_TABLE


def is_run(name: str | Path) -> bool:
    """Return True for the name of a run, which opens with its graph only."""
    return kind_of(name) == ANSWERS and not is_spec(str(name)) and find_measurement(name) is None


def _kind_of_name(name: str | Path) -> str:
    from kgprobe.judge.files import FILE as JUDGE_FILE
    from kgprobe.labelling.table import FACTS
    from kgprobe.task_logs.opening import is_task_log

    if is_spec(str(name)) or find_measurement(name) is not None:
        return ANSWERS
    if any((folder / FACTS).exists() for folder in (home() / "labels" / name, Path(name))):
        return LABEL_TABLE
    if (_judge_folder(name) / JUDGE_FILE).exists():
        return JUDGE
    if is_task_log(Path(name)):
        return LOG
    if is_path(name):
        raise UnknownNameError(f"{name} has no result: no measurement, label table, judge or log of another tool.")
    return ANSWERS


def open_alike(
    argument: str, results: "Sequence[Comparable | str | Path]", graph: Graph | None
) -> "tuple[str, list[Any]]":
    """Return the kind of results, and each of them opened.

    Args:
        argument: name of the argument, for messages.
        graph: graph of runs.

    Raises:
        ArgumentError: the results are of several kinds.
        UnknownNameError: no such result.
    """
    kinds = list(map(kind_of, results))
    for name, kind in zip(results, kinds, strict=True):
        if kind != kinds[0]:
            raise ArgumentError(
                argument,
                f"cannot be compared: {_named(results[0])} is a {kinds[0]}, and {_named(name)} a {kind}. Give results"
                " of one kind.",
            )
    return kinds[0], [_open(kinds[0], result, graph) for result in results]


def check_options(kind: str, given: Mapping[str, Any]) -> None:
    """Raise ArgumentError if an option is given that the kind does not have.

    Args:
        given: options by name; an empty or missing value is not given.
    """
    for name, value in given.items():
        if value and kind not in _OPTIONS[name]:
            raise ArgumentError(name, f"is for a {' or a '.join(_OPTIONS[name])}; the results are of kind {kind}.")


def _named(result: "Comparable | str | Path") -> str:
    return str(result) if isinstance(result, (str, Path)) else type(result).__name__


def _open(kind: str, result: "Comparable | str | Path", graph: Graph | None) -> "Comparable":
    if kind == LABEL_TABLE:
        from kgprobe.labelling.table import LabelTable, read_label_table

        if isinstance(result, (str, Path)):
            return read_label_table(result)
        return result if isinstance(result, LabelTable) else result.table  # type: ignore[union-attr]
    if not isinstance(result, (str, Path)):
        return result
    if kind == JUDGE:
        from kgprobe.judge.files import load_judge

        return load_judge(_judge_folder(result))
    if kind == LOG:
        from kgprobe.task_logs.opening import open_task_log

        return open_task_log(Path(result))
    return open_result(result, graph)


def _judge_folder(name: str | Path) -> Path:
    own = home() / "judges" / name
    return own if own.exists() else Path(name)


def open_result(name: str | Path, graph: Graph | None = None) -> "Stored":
    """Return a stored measurement by name or folder, or a run by name; the model is not loaded.

    The spec of a model stands for its newest measurement.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> kgprobe.open_result(made.folder).model
    'demo'

    Args:
        graph: graph of the run, and of the labels of relations; optional for a measurement.

    Raises:
        UnknownNameError: no such result.
        KgprobeError: another version of kgprobe began the run.
    """
    folder = find_measurement(name)
    if folder is not None:
        return open_measurement(folder, graph)
    if is_spec(str(name)):
        raise unmeasured(str(name))
    if is_path(name):
        raise UnknownNameError(f"{name} has no measurement: no config.json of one in it.")
    if graph is None:
        raise UnknownNameError(f"No measurement {str(name)!r}; to open a run of that name, give its graph.")
    try:
        return open_run(graph, str(name))
    except UnknownNameError as error:
        raise UnknownNameError(f"No measurement {str(name)!r}, neither as a folder nor by name. {error}") from None
