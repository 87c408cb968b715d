"""``kgprobe rounds``, ``estimate``, ``beliefs`` and ``demo``: runs of adaptive rounds, and what they show."""

import json
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.progress import waiting
from kgprobe.cli.commands import ShareType, given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.help import OneScreenCommand, RareOption
from kgprobe.cli.options import (
    BEHIND_API,
    ask_in_option,
    ask_password,
    count_option,
    debug_option,
    direction_options,
    draw_options,
    explain_option,
    full_option,
    graph_options,
    in_flags,
    json_option,
    model_option,
    name_option,
    open_directed,
    open_graph,
    ray_option,
    relations_option,
    seed_option,
    year_relation_option,
)
from kgprobe.cli.presets import as_paper_option
from kgprobe.cli.probe import ProbeGroup, show
from kgprobe.cli.rendering import render, show_tables
from kgprobe.cli.running import exit_without_answers, progress_bars, report_end, running, with_models
from kgprobe.cli.write_back import write_back
from kgprobe.probes.register import ProbeKind
from kgprobe.running.plan import RoundsOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.graph.client import Graph
    from kgprobe.models.model import Models
    from kgprobe.results.measurement import Run

_RUN_HELP = """Each round asks the facts that are most informative, and updates the beliefs about all facts. Prints a
summary of the known and the unknown facts, and writes a page. Ctrl-C finishes the current round and keeps it;
`kgprobe rounds resume` continues, `kgprobe show` shows the results again. Several models get one run each,
with the same settings.

\b
kgprobe rounds run {name} --model demo --rounds 4 --facts-per-round 32
kgprobe rounds run {name} --model hf:gpt2 --aim estimate"""


_view_option = cloup.option(
    "--view/--no-view",
    cls=RareOption,
    default=True,
    show_default=True,
    help="Write the beliefs onto the facts of the graph after each round, in place of another run's.",
)
# Rounds follow each other: each would wait for its batches for up to a day.
_SEQUENTIAL = ("batch_api",)


@click.group(cls=CommandGroup)
def rounds() -> None:
    """Ask a model about the graph in adaptive rounds.

    Each fact carries a Beta distribution of the probability that the model fails on it. Each round asks the facts that
    are most informative about which facts are hardest, and its answers also update the beliefs about related facts.
    """


def _run_command(kind: ProbeKind) -> click.Command:
    """Return the command that asks facts by this probe in rounds."""

    @given_options(("Rounds", RoundsOptions))
    @given_options((f"Options of {kind.name}", kind.options), defaults=kind.in_rounds)
    @model_option(f"{BEHIND_API} Repeat it to ask several models.", "asked", multiple=True)
    @ray_option
    @relations_option("Ask this relation only, by its id or a name; repeatable.")
    @direction_options
    @ask_in_option
    @year_relation_option
    @name_option("Name of the run.  [default: model, probe and time]")
    @with_models(api=_SEQUENTIAL)
    @_view_option
    @as_paper_option(f"rounds run {kind.name}")
    @full_option
    @draw_options
    @graph_options
    def run(
        asked: tuple[str, ...],
        inverse: bool,
        reversing: dict[str, Any],
        ask_in: str | None,
        full: bool,
        graph: str | None,
        as_json: bool,
        **options: Any,
    ) -> None:
        finished: list[Run] = []
        with open_directed(graph, inverse, reversing, ask_in) as connection:
            place = str(connection.endpoint.folder) if inverse else graph
            with running("Run") as callbacks, progress_bars() as on_progress:
                options |= {"callbacks": callbacks, "on_progress": on_progress}
                for result in kgprobe.run_each(connection, asked, kind.name, **options):
                    finished.append(result)
                    show(result, as_json, full, place)
            if not as_json:
                compare_runs(finished)
        exit_without_answers(*(result.report.stopped for result in finished))

    help_ = "\n\n".join(filter(None, (kind.summary, kind.rounds_note, _RUN_HELP.format(name=kind.name))))
    return cloup.command(kind.name, cls=OneScreenCommand, help=help_, short_help=kind.summary)(run)


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


@rounds.command()
@click.argument("run")
@count_option("--rounds", help="Total number of rounds.  [default: as begun]")
@year_relation_option
@explain_option
@ray_option
@with_models(api=_SEQUENTIAL)
@_view_option
@full_option
@graph_options
def resume(run: str, full: bool, graph: str | None, as_json: bool, **options: Any) -> None:
    """Continue RUN with the options it was begun with.

    A finished run shows its results again; --rounds adds rounds.

    \b
    kgprobe rounds resume gpt2-films
    kgprobe rounds resume gpt2-films --rounds 30 --max-cost 2
    """  # noqa: D301
    with open_graph(graph) as connection:
        with running(f"Run {run}") as callbacks, progress_bars() as on_progress:
            options |= {"callbacks": callbacks, "on_progress": on_progress}
            result = kgprobe.resume_rounds(connection, run, **options)
        show(result, as_json, full, graph)
    exit_without_answers(result.report.stopped)


def compare_runs(runs: "Sequence[Run]") -> None:
    """Print one table of several runs, on the facts that all of them asked; nothing for a single run."""
    from kgprobe.results.shared_facts import find_shared_facts

    answers = [(run.about, run.answers) for run in runs if run.report.asked]
    if len(runs) > 1 and answers:
        show_tables([find_shared_facts(answers).table()])


@cloup.command(cls=OneScreenCommand)
@cloup.argument("run", required=False, help="Name of the run.  [default: the latest run]")
@cloup.option(
    "--from",
    "predictors",
    multiple=True,
    metavar="RUN",
    help="Predict hard facts by another run, for example of another model; repeatable.",
)
@cloup.option(
    "--precision",
    type=ShareType(min=0, max=0.5, min_open=True, max_open=True),
    metavar="SHARE",
    help="Ask until the 95% interval is at most ± this: 2% or 0.02 for 2 points.  [default: ask nothing]",
)
@count_option("--rounds", help="With --precision: maximum number of rounds.  [default: no limit]")
@year_relation_option
@explain_option
@ray_option
@with_models(api=_SEQUENTIAL)
@graph_options
def estimate(
    run: str | None, models: "Models", precision: float | None, graph: str | None, as_json: bool, **options: Any
) -> None:
    """Estimate how much of the whole graph a model knows from the answers of RUN.

    Estimates the accuracy over all facts, and by relation, type, popularity and year. Its 95% intervals are valid for
    every choice of questions and every prediction of the other facts. Runs begun with --aim estimate need fewest
    questions. With --precision, continues the run, whose probe and model are known; where it stops by its own
    interval, the interval contains the share in 93.5% of runs instead of 95%.

    \b
    kgprobe rounds run distractors --model demo --aim estimate --name of-all
    kgprobe estimate of-all
    kgprobe estimate of-all --precision 2%
    """  # noqa: D301
    from kgprobe.answers.callbacks import Stop
    from kgprobe.results.measurement import open_run

    with open_graph(graph) as connection:
        run = open_run(connection, run).name
        if precision is None:
            with waiting("Estimating"):
                estimated = kgprobe.estimate_rates(connection, run, **options)
        else:
            forecast = kgprobe.estimate_rates(connection, run, predictors=options["predictors"]).forecast(precision)
            click.echo(forecast, nl=bool(forecast), err=True)
            with running(f"Run {run}") as callbacks:
                options |= {"precision": precision, "models": models, "callbacks": callbacks}
                estimated = kgprobe.estimate_rates(connection, run, **options)
    render(estimated, as_json)
    if estimated.stopped is Stop.DONE:
        click.echo(str(estimated.reason), err=True)
    elif estimated.stopped is not None:
        advice = f"Go on with: kgprobe estimate {run} --precision {precision}"
        report_end(estimated.stopped, estimated.reason, f"round {estimated.run['round']}", advice)
    exit_without_answers(estimated.stopped)


@click.group(cls=CommandGroup)
def beliefs() -> None:
    """Write the beliefs of a run onto the facts of the graph, paint them, or write them into your own graph.

    The beliefs of one run at a time are properties of the facts (alpha, beta, theta, belief, …): those of the run in
    view. `kgprobe rounds run` brings its run into view.

    \b
    kgprobe beliefs apply base
    kgprobe graph query "MATCH (s:Entity {label: 'France'})-[f:FACT]->(o)
      RETURN f.relation_label, o.label, f.belief, f.alpha, f.beta"
    """  # noqa: D301


@beliefs.command()
@click.argument("run", required=False)
@graph_options
def apply(run: str | None, graph: str | None, as_json: bool) -> None:
    """Bring RUN into view: write its beliefs onto all facts that it can ask. Without RUN, the latest run.

    The beliefs of the run that was in view are removed from the facts first; they are kept with their run. Repeat the
    command to continue an interrupted one.

    \b
    kgprobe beliefs apply
    kgprobe beliefs apply base
    """  # noqa: D301
    from kgprobe.results.measurement import open_run

    with open_graph(graph) as connection, progress_bars() as on_progress:
        name = open_run(connection, run).name
        facts = kgprobe.apply_beliefs(connection, name, on_progress=on_progress)
    content = {"run": name, "facts": facts}
    click.echo(json.dumps(content) if as_json else f"{facts:,} facts have the beliefs of run {name}.")


@beliefs.command()
@graph_options
def remove(graph: str | None, as_json: bool) -> None:
    """Remove the beliefs of the run in view from the facts; they are kept with their run.

    \b
    kgprobe beliefs remove
    """  # noqa: D301
    with open_graph(graph) as connection, progress_bars() as on_progress:
        facts = kgprobe.remove_beliefs(connection, on_progress=on_progress)
    click.echo(json.dumps({"facts": facts}) if as_json else f"Removed the beliefs from {facts:,} facts.")


@beliefs.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@cloup.option("--against", metavar="NAME", help="An earlier run to compare with: shows learned and forgotten facts.")
@cloup.option(
    "--expected",
    type=click.IntRange(min=0),
    metavar="N",
    help="Paint the N unasked facts that the run in view most probably fails on.  [default: 200 if RUN is in view]",
)
@cloup.option("--clear", is_flag=True, help="Delete all paint, and paint nothing.")
@graph_options
def paint(
    runs: tuple[str, ...], against: str | None, expected: int | None, clear: bool, graph: str | None, as_json: bool
) -> None:
    """Paint the beliefs of RUN as relationships, for Neo4j Browser. Without RUN, the latest run.

    Types of relationships: KNOWN, LEANS_KNOWN, LEANS_UNKNOWN and UNKNOWN for asked facts, EXPECTED for unasked ones.
    With --against, LEARNED and FORGOT if the earlier run was sure of the opposite. Several runs are painted parallel to
    each other, with their names in the captions. Asked entities get the label MostlyKnown, HalfKnown or MostlyUnknown.
    What was painted before is deleted first.

    \b
    kgprobe beliefs paint base
    kgprobe beliefs paint base tuned
    kgprobe beliefs paint tuned --against base
    kgprobe beliefs paint --clear
    """  # noqa: D301
    if clear and (runs or against is not None or expected is not None):
        raise click.UsageError("--clear deletes all paint; leave out RUN, --against and --expected.")
    with open_graph(graph) as connection, waiting("Clearing" if clear else "Painting"):
        if clear:
            deleted = kgprobe.clear_paint(connection)
            content: dict[str, Any] = {"deleted": deleted}
            message = f"Deleted {deleted:,} painted relationships."
        else:
            painted = kgprobe.paint_beliefs(connection, runs, against=against, expected=expected)
            content = {"runs": painted.runs, "against": painted.against, **painted.counts}
            message = f"{painted}{_how_to_look(connection, painted.runs[0])}"
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else message)


def _how_to_look(graph: "Graph", run: str) -> str:
    """Return a line with a query for an entity of a painted run; empty if it has no answers."""
    rows = graph.read("explore/least_known_entity", run=run)
    if not rows:
        return ""
    escaped = rows[0]["entity"].replace("\\", "\\\\").replace("'", "\\'")
    query = f"MATCH path = (:Entity {{id: '{escaped}'}})-[r]-() WHERE r.run IS NOT NULL RETURN path"
    return f"\nTo look at an entity with many unknown facts in Neo4j Browser: {query}"


beliefs.add_command(write_back)


@cloup.command(cls=OneScreenCommand)
@count_option("--rounds", default=8, help="Number of rounds.")
@count_option("--facts-per-round", default=32, help="Facts asked in each round.")
@cloup.option(
    "--graph",
    metavar="ADDRESS|FOLDER",
    help="Use this graph, empty or with the example alone: a server's address or a folder. Ignores KGPROBE_GRAPH."
    "  [default: the demo's own folder]",
)
@cloup.option("--again", is_flag=True, help="Ask again, even if the demo is finished.")
@seed_option
@full_option
@json_option
@debug_option
def demo(graph: str | None, full: bool, as_json: bool, **options: Any) -> None:
    """Show all steps: example graph, small model, rounds, results page.

    Loads a graph of countries into an embedded graph database, asks Gemma 3 270M about it in adaptive rounds, and shows
    the known and the unknown facts. The first time, the model is converted, which takes about a minute. A finished demo
    shows its results again; an interrupted one continues. The graph stays in its folder: query it with `kgprobe graph
    shell --graph FOLDER`.

    \b
    kgprobe demo
    kgprobe demo --graph bolt://host:7687
    """  # noqa: D301
    from kgprobe.base.files import DEMO, demo_folder

    def say(message: str) -> None:
        click.echo(in_flags(message), err=True)

    parts: dict[str, float] = defaultdict(float)

    def add(part: str, seconds: float) -> None:
        parts[part] += seconds

    with running(f"Run {DEMO}") as callbacks:
        result = kgprobe.run_demo(
            graph, callbacks=callbacks, say=say, on_part=add, ask_password=ask_password, **options
        )
    began = time.monotonic()
    with result.graph:
        show(result, as_json, full, graph or str(demo_folder()))
    add("page", time.monotonic() - began)
    say(f"Time: {', '.join(f'{part} {seconds:.1f} s' for part, seconds in parts.items())}")
