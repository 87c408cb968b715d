"""Kinds of results that can be compared, and how their names are opened."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgprobe.api.kind_names import JUDGE, LABEL_TABLE, MEASUREMENT, RUN
from kgprobe.api.stored import find, open_answers, open_label_table
from kgprobe.api.stored import open as open_stored
from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph

if TYPE_CHECKING:
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.table import LabelTable
    from kgprobe.results.answers import Stored
    from kgprobe.results.labels import Labels
    from kgprobe.task_logs.log import ModelLog

    Comparable: TypeAlias = Stored | LabelTable | Labels | Judge | ModelLog

# Kinds, as messages name them; a measurement can be compared with a run.
ANSWERS, LOG = "measurement or run", "log of another tool"
_STORED = (MEASUREMENT, RUN, LABEL_TABLE, JUDGE)
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
    """Return the kind of a result.

    Raises:
        UnknownNameError: no such result.
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
    return kind_of(name) == ANSWERS and find(name, _STORED).kind.name == RUN


def _kind_of_name(name: str | Path) -> str:
    from kgprobe.task_logs.opening import is_task_log

    try:
        kind = find(name, _STORED).kind.name
    except UnknownNameError:
        if is_task_log(Path(name)):
            return LOG
        raise
    return ANSWERS if kind in (MEASUREMENT, RUN) else kind


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
        from kgprobe.labelling.table import LabelTable

        if isinstance(result, (str, Path)):
            return open_label_table(result)
        return result if isinstance(result, LabelTable) else result.table  # type: ignore[union-attr]
    if not isinstance(result, (str, Path)):
        return result
    if kind == JUDGE:
        return open_stored(result, kind="judge")
    if kind == LOG:
        from kgprobe.task_logs.opening import open_task_log

        return open_task_log(Path(result))
    return open_answers(result, graph)
