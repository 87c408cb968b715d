"""From a graph and a model to a finding: a run with everything around it, begun, gone on with, or forgotten."""

import dataclasses
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgprobe.analysis.finding import Finding, find
from kgprobe.asking.rounds import Plan, Round, RunReport, begin_run, forget_run, get_run, plan_of, run_rounds
from kgprobe.asking.trail import FILE, read_trail, run_folder
from kgprobe.errors import KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.probes.outcome import Probe
from kgprobe.probes.registry import Models, ProbeOptions, decode_options, encode_options, make_probe
from kgprobe.report.finding_page import write_finding_page

_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how a run gets on, and may end it.

    Attributes:
        on_start: called with the number of askable facts, that of the rounds that are done already, and whether
            something was loaded into the graph since the run began.
        on_round: called after each round.
        should_stop: asked after each round.
    """

    on_start: Callable[[int, int, bool], None] = lambda facts, applied, changed: None
    on_round: Callable[[Round], None] = lambda round_: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Survey:
    """A run and its finding.

    Attributes:
        model, probe: who is asked, and how.
        report: what the run did this time.
        finding: what it found since it was begun; None if nothing could be asked.
        page: the finding's page; None if there is no finding.
        outcomes: the audit trail.
    """

    model: str
    probe: str
    report: RunReport
    finding: Finding | None
    page: Path | None
    outcomes: Path

    def as_json(self) -> dict[str, Any]:
        """One object with stable keys."""
        finding = self.finding
        return {
            "run": self.report.run,
            "rounds": self.report.rounds,
            "stopped": self.report.stopped,
            "reason": self.report.reason,
            "facts": self.report.facts,
            "facts_asked": finding.overall.facts if finding else 0,
            "questions": self.report.asked,
            "unaskable": self.report.unaskable,
            "unanswered": self.report.unanswered,
            "win_rate": finding.overall.win_rate.value if finding else None,
            "win_rate_interval": [finding.overall.win_rate.low, finding.overall.win_rate.high] if finding else None,
            "zero_sense_rate": finding.overall.zero_sense_rate.value if finding else None,
            "zero_sense_rate_interval": (
                [finding.overall.zero_sense_rate.low, finding.overall.zero_sense_rate.high] if finding else None
            ),
            "chance": finding.chance if finding else None,
            "model": self.model,
            "probe": self.probe,
            "answers": finding.answers.as_json() if finding else None,
            "seconds": round(self.report.seconds, 3),
            "page": str(self.page) if self.page else None,
            "outcomes": str(self.outcomes),
        }


def new_run_name(model: str, probe: str) -> str:
    """A name for a run that nobody named: model, probe and time."""
    return f"{_slug(model)}-{probe}-{time.strftime('%Y%m%d-%H%M%S')}"


def run_names(name: str | None, models: Sequence[str], probe: str) -> list[str]:
    """The names of the runs of some models: what the user called them, with the model behind it if there are several.

    Args:
        name: None if nobody named them.
    """
    if name is None:
        made = [new_run_name(model, probe) for model in models]
    else:
        made = [name] if len(models) == 1 else [f"{name}.{_slug(model)}" for model in models]
    # Two models may come to the same letters.
    return [one if made.index(one) == place else f"{one}-{place + 1}" for place, one in enumerate(made)]


def _slug(model: str) -> str:
    bare = re.sub(r"@.*", "", model.removeprefix("hf:").removeprefix("openai:"))
    return (re.sub(r"[^A-Za-z0-9]+", "-", bare).strip("-").lower() or "model")[:40]


def begin(
    graph: Graph,
    models: Models,
    options: ProbeOptions,
    plan: Plan,
    watch: Watch | None = None,
    *,
    year_relation: str | None = None,
) -> Survey:
    """Begin a run, do its rounds, and say what it found.

    Args:
        year_relation: what gives a fact's year, see :func:`~kgprobe.analysis.finding.find`; no part of the run.

    Raises:
        UnknownNameError: the graph has no such relation.
        KgprobeError: the run's name is taken or cannot be a folder's, or the graph has no fact to ask.
    """
    if not _RUN_NAME.fullmatch(plan.run):
        raise KgprobeError(
            f"{plan.run!r} cannot name a run; letters, digits, dots, dashes and underscores can, up to 100."
        )
    _refuse_unknown_relation(graph, year_relation)
    made = make_probe(graph, models, options)
    begin_run(graph, made, plan, encode_options(options))
    survey = _survey(graph, made, plan, watch or Watch(), year_relation)
    if survey.report.facts == 0:
        forget(graph, plan.run)
        relations = ", ".join(made.relations)
        raise KgprobeError(
            f"The graph has no fact to ask: none of {relations} is current at {plan.as_of} with a name at both ends. "
            "Load facts, or name another date by --as-of."
        )
    return survey


def options_of(graph: Graph, run: str) -> ProbeOptions:
    """What a run's probe was made from.

    Raises:
        UnknownNameError: there is no such run.
    """
    properties = get_run(graph, run)
    return decode_options(properties["probe"], properties["options"])


def resume(
    graph: Graph,
    models: Models,
    run: str,
    rounds: int | None = None,
    watch: Watch | None = None,
    *,
    year_relation: str | None = None,
) -> Survey:
    """Go on with a run where it stands.

    Args:
        rounds: how many it shall have in all; None leaves it at what it was begun with.
        year_relation: what gives a fact's year, see :func:`~kgprobe.analysis.finding.find`; no part of the run.

    Raises:
        UnknownNameError: there is no such run or relation.
        KgprobeError: the model is another one, or another process is at the run.
    """
    _refuse_unknown_relation(graph, year_relation)
    plan = plan_of(get_run(graph, run))
    probe = make_probe(graph, models, options_of(graph, run))
    extended = dataclasses.replace(plan, rounds=rounds or plan.rounds)
    return _survey(graph, probe, extended, watch or Watch(), year_relation)


def forget(graph: Graph, run: str) -> None:
    """Delete a run, its beliefs and its folder.

    Raises:
        UnknownNameError: there is no such run.
    """
    folder = run_folder(get_run(graph, run))
    forget_run(graph, run)
    shutil.rmtree(folder, ignore_errors=True)


def _refuse_unknown_relation(graph: Graph, relation: str | None) -> None:
    """Raise UnknownNameError before anything is asked, and not when the years are looked for."""
    if relation is not None and relation not in {row["id"] for row in graph.read("sample/relations")}:
        raise UnknownNameError(f"There is no relation {relation!r} in this graph from which years could come.")


def _survey(graph: Graph, probe: Probe, plan: Plan, watch: Watch, year_relation: str | None) -> Survey:
    report = run_rounds(
        graph, probe, plan, on_start=watch.on_start, on_round=watch.on_round, should_stop=watch.should_stop
    )
    run = get_run(graph, plan.run)
    folder = run_folder(run)
    if not report.asked:
        return Survey(run["model"], probe.name, report, None, None, folder / FILE)
    finding = find(graph, plan.run, lambda: read_trail(folder), year_relation=year_relation)
    page = folder / "finding.html"
    write_finding_page(finding, page)
    return Survey(run["model"], probe.name, report, finding, page, folder / FILE)
