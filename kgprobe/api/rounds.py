"""``kgprobe.run_rounds``: adaptive rounds with beliefs, begun, gone on with, shown again, forgotten."""

import dataclasses
import shutil
import time
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.api.options import RoundsOptions
from kgprobe.arguments import folder_name, several, whole_number
from kgprobe.beliefs.register import LEARNERS, SAMPLING_RULES, learners_for
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import asked_by, reversal_of
from kgprobe.graph.run_nodes import NO_RUN, find_run, list_runs
from kgprobe.models.local_options import LocalOptions
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.options import make_options
from kgprobe.probes.outcome import Probe
from kgprobe.probes.register import PROBES, ProbeContext, ProbeKind
from kgprobe.results.run import _COLUMNS, Run
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks, Stop
from kgprobe.running.rounds import RunReport, continue_run
from kgprobe.running.runs import Plan, begin_run, get_run, plan_of, run_folder
from kgprobe.running.runs import forget_run as forget_beliefs

if TYPE_CHECKING:
    import pandas as pd


def run_rounds(
    graph: Graph,
    model: Model | str,
    probe: str = "distractors",
    *,
    name: str | None = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    year_relation: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> Run:
    """Begin a run and do its rounds: each asks the facts that the model most probably fails on, and learns.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=4, distractors=3, name="first-look")
    >>> run.report.rounds, len(run.answers_frame())
    (1, 4)
    >>> run.to_frame()[["right", "wrong", "belief"]].iloc[0].tolist()  # doctest: +SKIP
    [0, 1, 'leans unknown']

    Cost a round: its batch and the batch's neighbours; see :mod:`kgprobe.running.rounds`.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        probe: how facts are asked, as in :func:`kgprobe.measure`.
        name: of the run; None makes one from model, probe and time.
        relations: the only relations, each by its id or a name; none means all that can be asked.
        seed: what all random choices follow from.
        as_of: facts count as current at this date; None is today.
        year_relation: the relation, by its id or a name, whose date at the subject gives a fact's year; None takes the
            year in which the fact began. No part of the run.
        models: opens the models that options name by their specs; None opens them as needed.
        watch: told, and asked, as it goes.
        options: of :class:`RoundsOptions`, and the probe's own.

    Raises:
        UnknownNameError: there is no such probe, model or relation.
        ArgumentError: there is no such option, a value cannot be, or the name cannot be a folder's.
        KgprobeError: the run's name is taken, or the graph has no fact to ask.
    """
    kind = PROBES.get(probe)
    relations, seed = relation_ids(graph, several("relations", relations)), whole_number("seed", seed, 0)
    name = None if name is None else folder_name("name", name)
    year_relation = _of_years(graph, year_relation)
    own = {one.name for one in dataclasses.fields(RoundsOptions)}
    how = make_options(RoundsOptions, {name: value for name, value in options.items() if name in own}, "rounds")
    chosen = kind.options_from({name: value for name, value in options.items() if name not in own})
    opened = models or Models()
    asked = opened.open(model)
    asked.refresh()
    day = as_of_day(as_of)
    made = kind.make(ProbeContext(graph, asked, opened, day, relations), chosen)
    plan = Plan(
        name or new_run_name(asked.name, asked_by(probe, reversal_of(graph) is not None)),
        day,
        seed=seed,
        **_planned(how),
    )
    local = None if asked.local is None else dataclasses.asdict(asked.local)
    kept = {"options": dataclasses.asdict(chosen), "relations": list(relations)}
    begin_run(graph, made, plan, kind.name, msgspec.json.encode(kept).decode(), msgspec.json.encode(local).decode())
    result = _continue_run(graph, made, plan, kind, callbacks, year_relation)
    if result.report.facts == 0:
        forget_run(graph, plan.run)
        raise KgprobeError(
            f"The graph has no fact to ask: none of {', '.join(made.relations)} is current at {day} with a name at "
            "both ends. Load facts, or name another date: `as_of`."
        )
    return result


def _planned(how: RoundsOptions) -> dict[str, Any]:
    """The fields of a plan that options say.

    Raises:
        ArgumentError: the sampling rule does not support the learner.
    """
    fields = dataclasses.asdict(how)
    fields |= {"batch": fields.pop("facts_per_round"), "width": fields.pop("stop_at_width")}
    aim, learner, sampling = fields.pop("aim"), fields["learner"], fields["sampling"]
    if sampling is None:
        sampling = "uniform" if aim == "estimate" else LEARNERS[learner].default_sampling
    elif not SAMPLING_RULES[sampling].supports(learner):
        supported = ", ".join(learners_for(sampling))
        raise ArgumentError("sampling", f"is {sampling!r}, which needs `learner` {supported}; it is {learner!r}.")
    return {**fields, "sampling": sampling}


def resume_rounds(
    graph: Graph,
    run: str,
    model: Model | None = None,
    *,
    rounds: int | None = None,
    year_relation: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> Run:
    """Go on with a run where it stands, with the options it was begun with; one that is done shows what it found.

    Args:
        run: its name.
        model: the one that it was begun with; None opens it by its spec, on the device, in the precision and in the
            revision that it was begun with.
        rounds: how many it shall have in all; None leaves it at what it was begun with.
        year_relation: as in :func:`run_rounds`.

    Raises:
        UnknownNameError: there is no such run or relation.
        ArgumentError: more rounds are done already.
        KgprobeError: the model or what it is asked is another, or another process is at the run.
    """
    year_relation = _of_years(graph, year_relation)
    properties = get_run(graph, run)
    if rounds is not None and rounds < properties["round"]:
        raise ArgumentError("rounds", f"is {rounds}: {properties['round']} rounds are done already.")
    plan = plan_of(properties)
    kind = PROBES.get(properties["probe"])
    kept = msgspec.json.decode(properties["options"])
    opened = models or Models()
    local = msgspec.json.decode(properties["local"])
    asked = opened.open(model or properties["model"], None if local is None else LocalOptions(**local))
    asked.refresh()
    setting = ProbeContext(graph, asked, opened, plan.as_of, kept["relations"])
    made = kind.make(setting, kind.options_from(kept["options"]))
    return _continue_run(
        graph, made, dataclasses.replace(plan, rounds=rounds or plan.rounds), kind, callbacks, year_relation
    )


def open_run(graph: Graph, run: str | None = None, *, year_relation: str | None = None) -> Run:
    """A run as it stands, whose model is not needed.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=3, distractors=3, name="to-look-at")
    >>> kgprobe.open_run(graph, "to-look-at").finding().asked
    3

    Args:
        run: its name; None is the one that was begun last.
        year_relation: as in :func:`run_rounds`.

    Raises:
        UnknownNameError: there is no such run or relation, or none at all.
        KgprobeError: kgprobe has not begun it.
    """
    year_relation = _of_years(graph, year_relation)
    if run is None:
        known = list_runs(graph)
        if not known:
            raise UnknownNameError(NO_RUN)
        run = str(known[-1]["id"])
    properties = get_run(graph, run)
    done = properties["round"] >= properties["rounds"]
    report = RunReport(
        run,
        None,
        properties["round"],
        properties["asked"],
        properties["unaskable"],
        properties["unanswered"],
        0.0,
        Stop.DONE if done else Stop.ASKED_TO,
    )
    kind = PROBES.get(properties["probe"])
    return Run(run, report, run_folder(properties), kind, properties, year_relation, graph)


def runs(graph: Graph) -> "pd.DataFrame":
    """The runs of a graph and where they stand, the latest last, in pandas.

    >>> list(kgprobe.runs(graph).columns[:3])
    ['id', 'model', 'probe']

    ``attrs["note"]`` says where there is none; otherwise it is None.
    """
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(runs_of(graph), columns=_COLUMNS)
    frame.attrs["note"] = None if len(frame) else NO_RUN
    return frame


def runs_of(graph: Graph, run: str | None = None) -> list[Row]:
    """The runs of a graph and where they stand, the latest last; or one of them.

    Raises:
        UnknownNameError: there is no such run.
    """
    return [{name: one.get(name) for name in _COLUMNS} for one in ([find_run(graph, run)] if run else list_runs(graph))]


def forget_run(graph: Graph, run: str) -> None:
    """Delete a run, its beliefs and its folder.

    Raises:
        UnknownNameError: there is no such run.
        KgprobeError: a process is at the run, or kgprobe has not begun it.
    """
    folder = run_folder(find_run(graph, run))
    forget_beliefs(graph, run)
    shutil.rmtree(folder, ignore_errors=True)


def new_run_name(model: str, probe: str) -> str:
    """A name for a run that nobody named: model, probe and time.

    Args:
        probe: as :func:`~kgprobe.graph.reversal.asked_by` tells of it.
    """
    return f"{short_name(model)}-{probe.replace(' ', '-')}-{time.strftime('%Y%m%d-%H%M%S')}"


def run_names(name: str | None, models: Sequence[str], probe: str) -> list[str]:
    """The names of the runs of some models: what the user called them, with the model behind it if there are several.

    Args:
        name: None if nobody named them.
    """
    if name is None:
        made = [new_run_name(model, probe) for model in models]
    else:
        made = [name] if len(models) == 1 else [f"{name}.{short_name(model)}" for model in models]
    # Two models may come to the same letters.
    return [one if made.index(one) == place else f"{one}-{place + 1}" for place, one in enumerate(made)]


def _continue_run(
    graph: Graph, probe: Probe, plan: Plan, kind: ProbeKind, callbacks: Callbacks, year_relation: str | None
) -> Run:
    report = continue_run(graph, probe, plan, callbacks, kind=kind)
    properties = get_run(graph, plan.run)
    return Run(plan.run, report, run_folder(properties), kind, properties, year_relation, graph)


def _of_years(graph: Graph, relation: str | None) -> str | None:
    return None if relation is None else relation_ids(graph, [relation])[0]
