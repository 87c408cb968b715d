"""``kgprobe probe``: ask a sample of facts once each; one command per registered probe."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.options import ApiLimits
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import counted
from kgprobe.cli.commands import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.help import OneScreenCommand
from kgprobe.cli.options import (
    BEHIND_API,
    common_options,
    count_option,
    direction_options,
    facts_options,
    full_option,
    model_option,
    name_option,
    open_directed,
    ray_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.rendering import reason_notes, show_finding, show_notes
from kgprobe.cli.running import exit_without_answers, measuring, open_asked, open_models, report_end, require_api
from kgprobe.probes.register import PROBES, ProbeKind

if TYPE_CHECKING:
    from pathlib import Path

    from kgprobe.results.finding import Finding
    from kgprobe.results.measurement import Measurement
    from kgprobe.running.measurement import Progress


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
    usual = f"{kind.batch_size}; with --batch-api up to 50,000" if answers else f"{kind.batch_size}"

    @given_options((f"Options of {kind.name}", kind.options))
    @model_option(BEHIND_API)
    @ray_option
    @facts_options
    @direction_options
    @given_options(("Models behind an API", ApiLimits), argument="api", left_out=() if answers else ("batch_api",))
    @count_option(
        "--batch-size", metavar="N", is_rare=True, help=f"Batch size: facts asked together.  [default: {usual}]"
    )
    @name_option("Folder name of the results.  [default: made from the settings]")
    @as_paper_option(f"probe {kind.name}")
    @full_option
    @common_options
    def ask(
        model: str,
        inverse: bool,
        reversing: dict[str, Any],
        api: dict[str, Any],
        full: bool,
        graph: str | None,
        as_json: bool,
        **options: Any,
    ) -> None:
        from kgprobe.api.measuring import check_measuring, measure

        require_api(api, model, *options.values())
        with open_models(api) as models:
            opened_model = open_asked(models, model)
            check_measuring(models, opened_model, kind.name, **options)
            with open_directed(graph, inverse, reversing) as opened:
                with measuring(f"Probing {model}", api) as callbacks:
                    result = measure(opened, opened_model, kind.name, models=models, callbacks=callbacks, **options)
                show(result, as_json, full)
        exit_without_answers(result.progress.stopped)

    help_ = f"{kind.summary}\n\n{kind.details}" if kind.details else kind.summary
    return cloup.command(kind.name, cls=OneScreenCommand, help=help_, short_help=kind.summary)(ask)


@click.group(cls=ProbeGroup, command_of=probe_command)
def probe() -> None:
    """Ask a model a sample of facts once each, by one probe.

    All answers are stored. Repeat a command to continue it after an interruption, or to show its results again.
    """


def show(result: "Measurement", as_json: bool, full: bool) -> "Path | None":
    """Print a measurement, a summary or one JSON object, and its problems on stderr; return its page, if any."""
    from kgprobe.probes.outcome import Verdict

    show_notes(result.missing)
    show_notes(result.notes)
    with waiting("Preparing results"):
        # The first reader of the answers: they are exported in the same pass.
        files = result.export() if result.complete else []
        unaskable, unanswered = map(result.reasons, (Verdict.UNASKABLE, Verdict.UNANSWERED))
        has_answers = result.progress.done > sum(unaskable.values()) + sum(unanswered.values())
        finding: Finding | None = None
        page: Path | None = None
        if has_answers:
            finding = result.finding()
            page = result.page(finding)
    if as_json:
        content = {
            **result.to_dict(finding),
            "outcomes": str(result.outcomes.path),
            "files": list(map(str, files)),
            "page": str(page) if page else None,
        }
        click.echo(json.dumps(content, ensure_ascii=False))
    else:
        if finding is None:
            for note in reason_notes(unaskable, unanswered):
                click.echo(note)
        if result.missing:
            click.echo(f"{counted(len(result.missing), 'line')} of the list could not be used.")
        if finding is not None and page is not None:
            show_finding(finding, page, full)
    _report_end(result.progress)
    return page


def _report_end(progress: "Progress") -> None:
    """Print on stderr why asking ended, and how to continue."""
    where = f"{progress.done - progress.unanswered:,} of {progress.facts:,} facts"
    report_end(progress.stopped, progress.reason, where, "Repeat the command to continue.")
    if progress.unanswered and not progress.stopped.can_go_on:
        click.echo(f"{progress.unanswered:,} questions got no answer; repeat the command to ask them again.", err=True)
