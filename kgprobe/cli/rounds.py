"""``kgprobe rounds``: adaptive rounds with beliefs; ``rounds run`` has a command for each probe."""

import json
import shlex
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.options import ApiLimits
from kgprobe.cli.commands import CommandGroup, OptionsFirst, given_options
from kgprobe.cli.options import (
    Common,
    Direction,
    ask_password,
    common_options,
    debug_option,
    direction_options,
    explain_option,
    full_option,
    graph_option,
    json_option,
    models_option,
    open_directed,
    relations_option,
    year_relation_option,
)
from kgprobe.cli.probe import ProbeGroup
from kgprobe.cli.rendering import open_in_browser, show_finding
from kgprobe.cli.running import open_asked, open_models, report_end, running
from kgprobe.probes.register import ProbeKind
from kgprobe.progress import waiting
from kgprobe.running.plan import RoundsOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kgprobe.results.run import Run

_RUN_HELP = """Each round asks the facts that are most informative, and updates the beliefs about all facts. Prints a
summary of the known and the unknown facts, and writes a page. Ctrl-C finishes the current round and keeps it;
`kgprobe rounds resume` continues, `kgprobe rounds show` shows the results again. Several models get one run each,
with the same settings.

\b
kgprobe rounds run {name} --model demo --rounds 4 --facts-per-round 32
kgprobe rounds run {name} --model hf:gpt2 --aim estimate"""


@click.group(cls=CommandGroup)
def rounds() -> None:
    """Ask a model about the graph in adaptive rounds.

    Each fact carries a Beta distribution of the probability that the model fails on it. Each round asks the facts that
    are most informative about which facts are hardest, and its answers also update the beliefs about related facts.
    """


def _run_command(kind: ProbeKind) -> click.Command:
    """Return the command that asks facts by this probe in rounds."""

    @given_options(("Rounds", RoundsOptions), argument="how")
    @given_options((f"Options of {kind.name}", kind.options))
    @models_option("Repeat it to ask several models.", api=True)
    @relations_option("Ask this relation only, by its id or a name; repeatable.")
    @direction_options
    @year_relation_option
    @cloup.option("--name", metavar="NAME", help="Name of the run.  [default: model, probe and time]")
    @given_options(("Models behind an API", ApiLimits), argument="api")
    @full_option
    @common_options
    def run(
        models: tuple[str, ...],
        how: dict[str, Any],
        relations: tuple[str, ...],
        direction: Direction,
        year_relation: str | None,
        name: str | None,
        given: dict[str, Any],
        api: dict[str, Any],
        full: bool,
        common: Common,
    ) -> None:
        from kgprobe.api.rounds import run_names, run_rounds
        from kgprobe.graph.reversal import asked_by
        from kgprobe.running.callbacks import Stop

        specs = tuple(dict.fromkeys(models))
        run_ids = run_names(name, specs, asked_by(kind.name, direction.inverse))
        finished: list[Run] = []
        with open_models(api) as opened, open_directed(common.graph, direction) as graph:
            place = str(graph.endpoint.folder) if direction.inverse else common.graph
            # A missing API key is reported before the first model is asked.
            for spec in specs:
                if spec.startswith("openai:") and kind.asks == "answers":
                    open_asked(opened, spec)
            for spec, run_id in zip(specs, run_ids, strict=True):
                model = open_asked(opened, spec)
                with running(run_id) as callbacks:
                    result = run_rounds(
                        graph,
                        model,
                        kind.name,
                        name=run_id,
                        relations=relations,
                        seed=common.seed,
                        as_of=common.as_of,
                        year_relation=year_relation,
                        models=opened,
                        callbacks=callbacks,
                        **how,
                        **given,
                    )
                finished.append(result)
                print_run(result, common.as_json, place, full)
                if result.report.stopped is Stop.ASKED_TO:
                    break
            left = specs[len(finished) :]
            if left:
                click.echo(f"Not begun: {', '.join(left)}.", err=True)
            if len(finished) > 1 and not common.as_json:
                compare_runs([result for result in finished if result.report.asked])

    help_ = f"{kind.summary}\n\n{_RUN_HELP.format(name=kind.name)}"
    return cloup.command(kind.name, cls=OptionsFirst, help=help_, short_help=kind.summary)(run)


@rounds.group("run", cls=ProbeGroup, command_of=_run_command)
def run_probe() -> None:
    """Begin a run: ask one or several models in rounds, by one probe.

    `kgprobe rounds run PROBE --help` lists the options of a probe.

    \b
    kgprobe rounds run distractors --model demo
    kgprobe rounds run questions --model demo --rounds 4 --facts-per-round 32
    kgprobe rounds run questions --model openai:NAME \\
        --max-cost 2 --input-price 0.15 --output-price 0.6
    """  # noqa: D301


@rounds.command(cls=OptionsFirst)
@click.argument("run")
@cloup.option("--rounds", type=click.IntRange(min=1), help="Total number of rounds.  [default: as begun]")
@year_relation_option
@explain_option
@given_options(("Models behind an API", ApiLimits), argument="api")
@full_option
@graph_option
@json_option
@debug_option
def resume(
    run: str,
    rounds: int | None,
    year_relation: str | None,
    api: dict[str, Any],
    full: bool,
    graph: str | None,
    as_json: bool,
) -> None:
    """Continue RUN with the options it was begun with.

    A finished run shows its results again; --rounds adds rounds.
    """
    from kgprobe.api.rounds import resume_rounds
    from kgprobe.servers.opening import open_graph

    with open_models(api) as models, open_graph(graph, ask_password=ask_password) as connection:
        with running(run) as callbacks:
            result = resume_rounds(
                connection, run, rounds=rounds, year_relation=year_relation, models=models, callbacks=callbacks
            )
        print_run(result, as_json, graph, full)


@rounds.command("show", cls=cloup.Command)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@cloup.option("--open", "in_browser", is_flag=True, help="Open the page in the web browser.")
@year_relation_option
@full_option
@graph_option
@json_option
@debug_option
def show_runs(
    runs: tuple[str, ...], in_browser: bool, year_relation: str | None, full: bool, graph: str | None, as_json: bool
) -> None:
    """Show the results of RUN again; compare several runs.

    Default: the latest run. No model is loaded. Writes into the run's folder: a page, results.json, and facts.csv with
    every asked fact, its answers and its belief.

    \b
    kgprobe rounds show --open
    kgprobe rounds show one-run another-run
    """  # noqa: D301
    from kgprobe.api.rounds import open_run
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection:
        with waiting("Reading results"):
            opened = [open_run(connection, run, year_relation=year_relation) for run in dict.fromkeys(runs or [None])]
        for run in opened:
            page = print_run(run, as_json, graph, full)
            if in_browser and page is not None:
                open_in_browser(page)
        if len(opened) > 1 and not as_json:
            compare_runs([run for run in opened if run.report.asked])


@rounds.command(cls=cloup.Command)
@click.argument("run", required=False)
@graph_option
@json_option
@debug_option
def status(run: str | None, graph: str | None, as_json: bool) -> None:
    """List the runs of the graph with their progress, or RUN alone."""
    from kgprobe.api.rounds import runs_of
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection:
        runs = runs_of(connection, run)
    if as_json:
        for properties in runs:
            click.echo(json.dumps(properties, ensure_ascii=False))
        return
    if not runs:
        click.echo("No run in this graph yet; `kgprobe rounds run distractors --model demo` begins one.", err=True)
        return
    from rich.console import Console

    from kgprobe.report.rows import table

    rows = [
        {
            "run": properties["id"],
            "model": properties["model"],
            "probe": properties["probe"],
            "rounds": f"{properties['round']} of {properties['rounds']}",
            "asked": properties["asked"],
            "begun": (properties["started"] or "")[:16].replace("T", " "),
        }
        for properties in runs
    ]
    Console().print(table(list(rows[0]), rows, len(rows))[0])


@rounds.command(cls=cloup.Command)
@click.argument("run")
@click.confirmation_option("--yes", prompt="Delete the run, its beliefs and its answers?")
@graph_option
@debug_option
def forget(run: str, graph: str | None) -> None:
    """Delete RUN: its beliefs in the graph and its folder of answers."""
    from kgprobe.api.rounds import forget_run
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection, waiting(f"Deleting the run {run}"):
        forget_run(connection, run)


def print_run(result: "Run", as_json: bool, graph: str | None, full: bool) -> "Path | None":
    """Print a run: a summary and the page's address, or one JSON object.

    Args:
        graph: value of ``--graph`` for the command that continues the run; None for the default graph.
        full: True to print all tables.

    Returns:
        the page's path; None if there are no answers.
    """
    report = result.report
    if report.hubs:
        hubs = ", ".join(list(report.hubs.values())[:5])
        more = f" and {len(report.hubs) - 5} more" if len(report.hubs) > 5 else ""
        click.echo(f"Too many facts to propagate through: {hubs}{more}. --max-degree changes the limit.", err=True)
    with waiting("Preparing results"):
        finding = result.finding() if report.asked else None
        page = result.page(finding) if finding else None
    if as_json:
        content = {
            **result.to_dict(finding),
            "page": str(page) if page else None,
            "outcomes": str(result.outcomes.path),
        }
        click.echo(json.dumps(content, ensure_ascii=False))
    elif finding is None or page is None:
        click.echo(f"Nothing was asked: {report.unaskable:,} facts are not askable.")
    else:
        show_finding(finding, page, full)
    where = f" --graph {shlex.quote(graph)}" if graph else ""
    command = f"Go on with: kgprobe rounds resume {report.run}{where}"
    report_end(report.stopped, report.reason, f"round {report.rounds}", command)
    return page


def compare_runs(runs: "Sequence[Run]") -> None:
    """Print one table of several runs, on the facts that all of them asked."""
    from rich.console import Console

    from kgprobe.report.tables import rich_table
    from kgprobe.results.answers import answers_of, find_shared_facts

    if runs:
        Console().print(rich_table(find_shared_facts([answers_of(run) for run in runs]).table()))
