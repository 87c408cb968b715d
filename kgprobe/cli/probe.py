"""``kgprobe probe``: ask a sample of facts once each; one command per registered probe."""

import json
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import counted
from kgprobe.cli.commands import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import (
    BEHIND_API,
    ask_in_option,
    batch_size_option,
    direction_options,
    draw_options,
    facts_options,
    full_option,
    graph_options,
    model_option,
    name_option,
    open_directed,
    ray_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.rendering import reason_notes, show_finding, show_notes
from kgprobe.cli.running import exit_without_answers, measuring, report_end, with_models
from kgprobe.probes.register import PROBES, ProbeKind

if TYPE_CHECKING:
    from pathlib import Path

    from kgprobe.models.model import Models
    from kgprobe.results.measurement import Measurement, Run


class ProbeGroup(CommandGroup):
    """A group with one command for each registered probe, and commands that were added."""

    def __init__(self, *arguments: Any, command_of: Callable[[ProbeKind], click.Command], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._command_of = command_of

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the probes, and of added commands."""
        return sorted([*PROBES.names(), *self.commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of a probe, or an added one; None if there is no such command."""
        return self._command_of(PROBES.get(cmd_name)) if cmd_name in PROBES else self.commands.get(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raise UsageError if options come before the probe."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            raise click.UsageError(f"Name the probe before {args[0]}; one of {', '.join(PROBES.names())}.", ctx)
        return super().parse_args(ctx, args)


def probe_command(kind: ProbeKind) -> click.Command:
    """Return the command of a probe."""
    # A batch API returns texts only.
    answers = kind.asks == "answers"

    @given_options((f"Options of {kind.name}", kind.options))
    @model_option(BEHIND_API)
    @ray_option
    @facts_options
    @direction_options
    @ask_in_option
    @with_models(api=() if answers else ("batch_api",))
    @batch_size_option
    @name_option("Folder name of the results.  [default: made from the settings]")
    @as_paper_option(f"probe {kind.name}")
    @full_option
    @draw_options
    @graph_options
    def ask(
        model: str,
        models: "Models",
        inverse: bool,
        reversing: dict[str, Any],
        ask_in: str | None,
        full: bool,
        graph: str | None,
        as_json: bool,
        **options: Any,
    ) -> None:
        with open_directed(graph, inverse, reversing, ask_in) as opened:
            with measuring(f"Probing {model}", models) as callbacks:
                result = kgprobe.measure(opened, model, kind.name, models=models, callbacks=callbacks, **options)
            show(result, as_json, full)
        exit_without_answers(result.progress.stopped)

    help_ = f"{kind.summary}\n\n{kind.details}" if kind.details else kind.summary
    return cloup.command(kind.name, cls=OneScreenCommand, help=help_, short_help=kind.summary)(ask)


@click.group(cls=ProbeGroup, command_of=probe_command)
def probe() -> None:
    """Ask a model a sample of facts once each, by one probe.

    All answers are stored. Repeat a command to continue it after an interruption, or to show its results again.
    """


def show(result: "Measurement | Run", as_json: bool, full: bool, graph: str | None = None) -> "Path | None":
    """Print a measurement or a run, a summary or one JSON object; on stderr its problems, and how to continue it.

    Args:
        graph: value of ``--graph`` for the command that continues a run; None for the default graph.

    Returns:
        the page's path; None if there are no answers.
    """
    from kgprobe.probes.outcome import Verdict
    from kgprobe.results.measurement import Measurement

    missing = result.missing if isinstance(result, Measurement) else ()
    show_notes([*missing, *(result.notes if isinstance(result, Measurement) else _hub_notes(result))])
    with waiting("Preparing results"):
        # The first reader of the answers: they are exported in the same pass.
        files = result.export() if isinstance(result, Measurement) and result.complete else []
        unaskable, unanswered = map(result.reasons, (Verdict.UNASKABLE, Verdict.UNANSWERED))
        silent = sum(unaskable.values()) + sum(unanswered.values())
        answered = result.progress.done - silent if isinstance(result, Measurement) else result.report.asked
        finding = result.finding() if answered else None
        page = result.page(finding) if finding else None
    if as_json:
        places = {"outcomes": str(result.outcomes.path), "page": str(page) if page else None}
        content = {**result.to_dict(finding), **places, "files": list(map(str, files))}
        click.echo(json.dumps(content, ensure_ascii=False))
    else:
        for note in () if finding else reason_notes(unaskable, unanswered):
            click.echo(note)
        if missing:
            click.echo(f"{counted(len(missing), 'line')} of the list could not be used.")
        if finding is not None and page is not None:
            show_finding(finding, page, full)
    _report_end(result, graph)
    return page


def _hub_notes(run: "Run") -> list[str]:
    """Return a note on the entities that were excluded from propagation; none if there are none."""
    hubs = list(run.report.hubs.values())
    more = f" and {len(hubs) - 5} more" if len(hubs) > 5 else ""
    listed = f"{', '.join(hubs[:5])}{more}"
    return [f"Too many facts to propagate through: {listed}. `max_degree` changes the limit."] if hubs else []


def _report_end(result: "Measurement | Run", graph: str | None) -> None:
    """Print on stderr why asking ended, and how to continue."""
    from kgprobe.results.measurement import Run

    if isinstance(result, Run):
        where = f" --graph {shlex.quote(graph)}" if graph else ""
        advice = f"Go on with: kgprobe rounds resume {result.name}{where}"
        report_end(result.report.stopped, result.report.reason, f"round {result.report.rounds}", advice)
        return
    progress = result.progress
    where = f"{progress.done - progress.unanswered:,} of {progress.facts:,} facts"
    report_end(progress.stopped, progress.reason, where, "Repeat the command to continue.")
    if progress.unanswered and not progress.stopped.can_go_on:
        click.echo(f"{progress.unanswered:,} questions got no answer; repeat the command to ask them again.", err=True)
