"""Kinds of results that can be compared, and how their names are opened."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.models.spec_forms import is_spec
from kgprobe.results.kind_names import JUDGE, LABEL_TABLE, MEASUREMENT, RUN

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.labels import Labels
    from kgprobe.labelling.table import LabelTable
    from kgprobe.results.answers import Stored
    from kgprobe.task_logs.log import ModelLog

    Comparable: TypeAlias = Stored | LabelTable | Labels | Judge | ModelLog

# The kind of a log of lm-evaluation-harness or Inspect, which kgprobe does not store.
LOG = "log"
# A measurement is compared with a run, too.
ANSWERS = (MEASUREMENT, RUN)
COMPARABLE = (*ANSWERS, LABEL_TABLE, JUDGE)
# Kinds that have an option; the others do not.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "seed": (*ANSWERS, LOG),
    "families": ANSWERS,
    "roles": ANSWERS,
    "metrics": (LOG,),
    "scheme": (LABEL_TABLE,),
    "shared": (*ANSWERS, LABEL_TABLE),
}


def kind_of(result: "Comparable | str | Path", kinds: Sequence[str] = COMPARABLE, graph: "Graph | None" = None) -> str:
    """Return the kind of a result.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: results of several kinds have this name, or the object is no such result.
    """
    if isinstance(result, (str, Path)):
        return _kind_of_name(result, kinds, graph)
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.labels import Labels
    from kgprobe.labelling.table import LabelTable
    from kgprobe.results.measurement import Measurement, Run
    from kgprobe.task_logs.log import ModelLog

    types: Mapping[str, Any] = {
        MEASUREMENT: Measurement,
        RUN: Run,
        JUDGE: Judge,
        LOG: ModelLog,
        LABEL_TABLE: (LabelTable, Labels),
    }
    for kind, type_ in types.items():
        if isinstance(result, type_):
            return kind
    raise ArgumentError("results", f"has a {type(result).__name__}; expected a name or one of {', '.join(types)}.")


def _kind_of_name(name: str | Path, kinds: Sequence[str], graph: "Graph | None") -> str:
    from kgprobe.task_logs.opening import is_task_log

    path = Path(name)
    # Without the register of stored results, which imports more; a name without a folder may be that of a result.
    if path.name != str(name) and is_task_log(path):
        return LOG
    from kgprobe.results.shelf import find

    try:
        return find(name, kinds, graph).kind.name
    except UnknownNameError:
        if is_task_log(path):
            return LOG
        raise


def open_alike(
    argument: str, results: "Sequence[Comparable | str | Path]", kinds: Sequence[str], graph: "Graph | None"
) -> "tuple[str, list[Any]]":
    """Return the kind of the first result, and all results opened."""
    known = [kind_of(result, kinds, graph) for result in results]
    for result, kind in zip(results, known, strict=True):
        if kind != known[0] and not {kind, known[0]} <= set(ANSWERS):
            raise ArgumentError(
                argument,
                f"cannot be compared: {_named(results[0])} is a {known[0]}, and {_named(result)} a {kind}. Give results"
                " of one kind.",
            )
    return known[0], [_open(kind, result, graph) for kind, result in zip(known, results, strict=True)]


def with_newest(
    results: "Sequence[Any]", kinds: Sequence[str], graph: "Graph | None" = None
) -> tuple[list[Any], list[str]]:
    """Return results with the folder of a measurement in place of each spec of a model, and notes on the folders.

    The measurements are the newest ones that differ in the model alone, from each other and from other given
    measurements; without such ones, the newest of each model.

    Cost: reading the settings of all measurements, if a spec is given.
    """
    specs = [isinstance(result, str) and is_spec(result) for result in results]
    if not any(specs) or MEASUREMENT not in kinds:
        return list(results), []
    from kgprobe.results.shelf import measurements_of

    choices: dict[int, Sequence[Path]] = {}
    for place, (result, is_model) in enumerate(zip(results, specs, strict=True)):
        if is_model:
            choices[place] = [entry.folder for entry in measurements_of(result)]
        elif kind_of(result, kinds, graph) == MEASUREMENT:
            choices[place] = [_folder_of(result, kinds, graph)]
    folders = list(choices.values())
    # With the same facts, if there are such measurements.
    chosen = _newest_alike(folders, with_facts=True) or _newest_alike(folders, with_facts=False)
    newest = dict(zip(choices, chosen or [each[0] for each in folders], strict=True))
    notes = []
    for place in filter(specs.__getitem__, newest):
        which = "newest" if newest[place] == choices[place][0] else "newest comparable"
        notes.append(f"{results[place]}: its {which} measurement, {newest[place].name}.")
    return [newest[place] if is_model else results[place] for place, is_model in enumerate(specs)], notes


def _folder_of(result: "Any", kinds: Sequence[str], graph: "Graph | None") -> Path:
    from kgprobe.results.shelf import find

    folder: Path = find(result, kinds, graph).folder if isinstance(result, (str, Path)) else result.folder
    return folder


def _newest_alike(choices: Sequence[Sequence[Path]], *, with_facts: bool) -> list[Path]:
    """Return a folder of each choice, all with the same settings but for the model; empty if there are none.

    Args:
        choices: folders of measurements, the newest first.
        with_facts: True if they also have the same list of facts.
    """
    from kgprobe.results.answers import settings_in
    from kgprobe.results.kinds import read_settings
    from kgprobe.running.settings import CONFIG, digest_of

    by_settings: list[dict[str, Path]] = []
    for folders in choices:
        own: dict[str, Path] = {}
        for folder in folders:
            config = read_settings(folder)
            settings = {"probe": config["probe"], **settings_in(config)}
            own.setdefault(digest_of(settings | {"facts": config["facts"]} if with_facts else settings), folder)
        by_settings.append(own)
    common = set(by_settings[0]).intersection(*by_settings)
    if not common:
        return []

    def time_of(key: str) -> int:
        return min((own[key] / CONFIG).stat().st_mtime_ns for own in by_settings)

    newest = max(common, key=time_of)
    return [own[newest] for own in by_settings]


def check_options(kind: str, given: Mapping[str, Any]) -> None:
    """Raise ArgumentError if an option is given that the kind does not have.

    Args:
        given: options by name; an empty value is not given.
    """
    for name, value in given.items():
        if value and kind not in _OPTIONS[name]:
            raise ArgumentError(name, f"is for a {' or '.join(_OPTIONS[name])}; this is a {kind}.")


def _named(result: "Comparable | str | Path") -> str:
    return str(result) if isinstance(result, (str, Path)) else type(result).__name__


def _open(kind: str, result: Any, graph: "Graph | None") -> "Comparable":
    if kind == LABEL_TABLE:
        from kgprobe.labelling.table import LabelTable, open_label_table

        if isinstance(result, (str, Path)):
            return open_label_table(result)
        table: LabelTable = result if isinstance(result, LabelTable) else result.table
        return table
    if not isinstance(result, (str, Path)):
        opened: Comparable = result
        return opened
    if kind == LOG:
        from kgprobe.task_logs.opening import open_task_log

        return open_task_log(Path(result))
    from kgprobe.results.shelf import find

    entry = find(result, [kind], graph)
    stored: Any = entry.kind.opens(entry.folder, graph)
    return stored  # type: ignore[no-any-return]
