"""``kgprobe probe``: one method over a sample of facts; a command for each probe, made from what it declares."""

import json
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.cli.from_options import OptionsFirst, given_options
from kgprobe.cli.options import Common, FactsAsked, ask_password, common_options, facts_options, model_option
from kgprobe.cli.running import open_models
from kgprobe.cli.watching import measuring, tell_end
from kgprobe.library.options import ApiLimits
from kgprobe.probes.register import PROBES, ProbeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.library.measuring import Measurement

# On the terminal; the count is in the summary.
SHOWN_PROBLEMS = 20


class _Probes(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(PROBES.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _command(PROBES.get(cmd_name)) if cmd_name in PROBES else None


@click.group(cls=_Probes)
def probe() -> None:
    """Ask a model about a sample of facts by one method, and keep every number.

    The same command goes on with what an interrupted one began, and shows what a finished one found.
    """


def _command(kind: ProbeKind) -> click.Command:
    answers = kind.asks == "answers"

    @model_option(answers)
    @facts_options
    @given_options((f"Options of {kind.name}", kind.options), defaults=kind.measured)
    @given_options(*([("Models behind an API", ApiLimits)] if answers else []), argument="api")
    @cloup.option(
        "--batch", type=click.IntRange(min=1), default=kind.batch, show_default=True, help="Facts asked together."
    )
    @cloup.option("--name", metavar="NAME", help="The results' folder.  [default: made from the settings]")
    @common_options
    def ask(
        model: str,
        asked: FactsAsked,
        given: dict[str, Any],
        api: dict[str, Any],
        batch: int,
        name: str | None,
        common: Common,
    ) -> None:
        from kgprobe.library.measuring import measure
        from kgprobe.servers.opening import open_graph

        with open_models(api) as models, open_graph(common.graph, ask_password=ask_password) as graph:
            opened = models.open(model)
            with measuring(f"Probing {model}") as watch:
                result = measure(
                    graph,
                    opened,
                    kind.name,
                    sample=asked.sample,
                    facts=asked.facts,
                    relations=asked.relations,
                    seed=common.seed,
                    as_of=common.as_of,
                    batch=batch,
                    name=name,
                    models=models,
                    watch=watch,
                    **given,
                )
            show(result, common.as_json)

    help_ = f"{kind.summary}\n\n{kind.details}" if kind.details else kind.summary
    return cloup.command(kind.name, cls=OptionsFirst, help=help_, short_help=kind.summary)(ask)


def show(result: "Measurement", as_json: bool) -> None:
    """Print what a measurement came to, tables or one JSON object, and on stderr what one has to know of it."""
    from kgprobe.probes.outcome import Verdict

    tell_missing(result.missing)
    unaskable, unanswered = (result.reasons(verdict) for verdict in (Verdict.UNASKABLE, Verdict.UNANSWERED))
    tables = result.tables()
    asked = result.asked
    files = result.export() if result.complete else []
    if as_json:
        shown = {
            "model": result.model,
            "probe": result.kind.name,
            "facts": asked.facts,
            "done": asked.done,
            "stopped": asked.stopped.value,
            "unaskable": unaskable,
            "unanswered": unanswered,
            "not_in_graph": len(result.missing),
            "tables": {table.key: table.as_json() for table in tables},
            "outcomes": str(result.outcomes.path),
            "files": [str(file) for file in files],
        }
        click.echo(json.dumps(shown, ensure_ascii=False))
    else:
        from rich.console import Console, Group

        from kgprobe.report.tables import notes_of, reasons_note, rich_table

        notes = [reasons_note(unaskable)] if unaskable else []
        notes += [reasons_note(unanswered, "No answer came")] if unanswered else []
        notes += [f"{len(result.missing):,} lines of the list name no fact of this graph."] if result.missing else []
        parts = [rich_table(table) for table in tables]
        Console().print(Group(*notes_of(result.summary().splitlines()), *parts, *notes_of(notes)))
        for path in (result.outcomes.path, *files):
            click.echo(f"{'Answers' if path == result.outcomes.path else 'Table'}: {path}")
    where = f"{asked.done - asked.unanswered:,} of {asked.facts:,} facts"
    tell_end(asked.stopped, asked.reason, where, "The same command goes on.")
    if asked.unanswered and not asked.stopped.can_go_on:
        click.echo(f"{asked.unanswered:,} questions got no answer; the same command asks them again.", err=True)


def tell_missing(missing: "Sequence[str]") -> None:
    """Say on stderr which facts of a list are not in the graph."""
    for message in missing[:SHOWN_PROBLEMS]:
        click.echo(message, err=True)
    if len(missing) > SHOWN_PROBLEMS:
        click.echo(f"… and {len(missing) - SHOWN_PROBLEMS:,} lines more.", err=True)
