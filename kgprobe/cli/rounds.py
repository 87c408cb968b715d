"""``kgprobe rounds``: adaptive rounds with beliefs."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.options import (
    ApiChoice,
    Common,
    DistractorChoice,
    QuestionChoice,
    api_options,
    ask_password,
    common_options,
    debug_option,
    distractor_options,
    explain_option,
    graph_option,
    json_option,
    question_options,
)
from kgprobe.cli.running import interruptible, open_models
from kgprobe.cli.sections import SectionedCommand, given_in, section

if TYPE_CHECKING:
    from kgprobe.asking.rounds import Round
    from kgprobe.asking.survey import Survey, Watch

PROBES = ("distractors", "questions")
_OPTIONS_OF = {probe: f"Options of --probe {probe}" for probe in PROBES}


_YEAR_RELATION = click.option(
    "--year-relation",
    metavar="ID",
    help="Show results by the year that this relation gives the subject, such as its inception.  [default: the year in"
    " which the fact began]",
)


def _refuse_nan(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if value != value:
        raise click.BadParameter("nan is no width.")
    return value


@click.group()
def rounds() -> None:
    """Ask a model about the graph, round by round.

    Each round draws the facts that the model most probably fails on, asks them, and learns: every fact carries a Beta
    distribution of the probability that the model fails on it, and an answer also tells a little about the facts
    around it.
    """


@rounds.command(cls=SectionedCommand)
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    metavar="SPEC",
    help="demo, hf:NAME of the Hugging Face hub, or hf:./folder with a model in it; with --probe questions also"
    " openai:NAME, or openai:NAME@URL of a server. Repeat it to ask several models.",
)
@explain_option
@click.option("--rounds", "count", type=click.IntRange(min=1), default=60, show_default=True, help="Rounds to run.")
@click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Facts asked a round.")
@click.option(
    "--probe",
    type=click.Choice(PROBES),
    default=PROBES[0],
    show_default=True,
    help="How a fact is asked: as a cloze sentence with distractors, or as a question that a model answers in words.",
)
@section(_OPTIONS_OF["distractors"], distractor_options(distractors=10, sentences="1"))
@section(_OPTIONS_OF["questions"], question_options)
@section("Models behind an API", api_options)
@click.option("--relation", "relations", multiple=True, metavar="ID", help="Ask this relation only; repeatable.")
@click.option(
    "--sampling",
    type=click.Choice(("thompson", "monte-carlo", "iteration")),
    default="thompson",
    show_default=True,
    help="Which facts are asked: those that the model most probably fails on, any, or one after the other.",
)
@click.option(
    "--propagation/--no-propagation", default=True, show_default=True, help="Learn about facts from those around them."
)
@click.option(
    "--max-degree",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Entities with more facts than this do not pass on what is learned.",
)
@click.option(
    "--width",
    type=click.FloatRange(0, 0.9, max_open=True),
    default=0.0,
    metavar="W",
    callback=_refuse_nan,
    help="End as soon as the 90% interval of a fact's probability of failing is no broader, on average over all facts"
    " that can be asked; one that nothing is known of has 0.9.  [default: do all rounds]",
)
@_YEAR_RELATION
@click.option("--run", "name", metavar="NAME", help="A name for the run.  [default: model, probe and time]")
@common_options
def run(
    models: tuple[str, ...],
    count: int,
    batch: int,
    probe: str,
    choice: DistractorChoice,
    questions: QuestionChoice,
    api: ApiChoice,
    relations: tuple[str, ...],
    sampling: str,
    propagation: bool,
    max_degree: int,
    width: float,
    year_relation: str | None,
    name: str | None,
    common: Common,
) -> None:
    """Begin a run and do its rounds.

    Ends in a table of what the model knows and does not know, and a page with the same. Ctrl-C finishes the round at
    work and keeps it; `kgprobe rounds resume` goes on. Several models get a run each, one after the other, with the
    same settings.

    \b
    kgprobe rounds run --model demo
    kgprobe rounds run --model demo --probe questions --rounds 4 --batch 32
    kgprobe rounds run --model openai:NAME --probe questions --max-cost 2 --price-in 0.15 --price-out 0.6
    """  # noqa: D301
    from kgprobe.asking import survey
    from kgprobe.asking.rounds import Plan
    from kgprobe.servers.server import open_graph

    for other in PROBES:
        unused = given_in(_OPTIONS_OF[other]) if other != probe else []
        if unused:
            raise click.UsageError(f"{', '.join(unused)}: for --probe {other} only, and this is --probe {probe}.")
    different = tuple(dict.fromkeys(models))
    names = survey.run_names(name, different, probe)
    way: DistractorChoice | QuestionChoice = questions if probe == "questions" else choice
    surveys = []
    with open_models(api) as loaded, open_graph(common.graph, ask_password) as graph:
        if probe == "questions":
            # Whoever has no key shall know before the first model has been asked.
            for spec in (*different, questions.judge, questions.writer):
                if spec is not None and spec.startswith("openai:"):
                    loaded.generator(spec)
        for model, run_name in zip(different, names, strict=True):
            options = way.probe_options(model, relations, common.as_of)
            plan = Plan(run_name, count, batch, common.seed, common.as_of, max_degree, sampling, propagation, width)
            with watched(plan.run, count) as watch:
                surveys.append(survey.begin(graph, loaded, options, plan, watch, year_relation=year_relation))
            show(surveys[-1], common.as_json, common.graph)
            if surveys[-1].report.stopped == "asked to":
                break
    left = different[len(surveys) :]
    if left:
        click.echo(f"Not begun: {', '.join(left)}.", err=True)
    if len(surveys) > 1 and not common.as_json:
        show_side_by_side(surveys)


@rounds.command(cls=SectionedCommand)
@click.argument("run")
@click.option("--rounds", "count", type=click.IntRange(min=1), help="Rounds to come to in all.  [default: as begun]")
@_YEAR_RELATION
@explain_option
@section("Models behind an API", api_options)
@graph_option
@json_option
@debug_option
def resume(
    run: str, count: int | None, year_relation: str | None, api: ApiChoice, graph: str | None, as_json: bool
) -> None:
    """Go on with RUN where it stands, with the options it was begun with.

    A run that has done its rounds shows its finding again; --rounds lets it do more.
    """
    from kgprobe.asking import survey
    from kgprobe.asking.rounds import get_run
    from kgprobe.servers.server import open_graph

    with open_models(api) as loaded, open_graph(graph, ask_password) as connection:
        properties = get_run(connection, run)
        if count is not None and count < properties["round"]:
            raise click.UsageError(f"--rounds {count}: {properties['round']} rounds are done already.")
        with watched(run, count or properties["rounds"]) as watch:
            result = survey.resume(connection, loaded, run, count, watch, year_relation=year_relation)
    show(result, as_json, graph)


@rounds.command()
@click.argument("run", required=False)
@graph_option
@json_option
@debug_option
def status(run: str | None, graph: str | None, as_json: bool) -> None:
    """Where the graph's runs stand, or RUN alone."""
    from kgprobe.asking.rounds import get_run
    from kgprobe.servers.server import open_graph

    with open_graph(graph, ask_password) as connection:
        runs = [get_run(connection, run)] if run else [row["run"] for row in connection.read("beliefs/runs")]
    if as_json:
        for properties in runs:
            click.echo(json.dumps(_status(properties), ensure_ascii=False))
        return
    if not runs:
        click.echo("No run in this graph yet; `kgprobe rounds run --model demo` begins one.", err=True)
        return
    from rich.console import Console

    from kgprobe.report.rows import table

    rows = [
        {
            "run": properties["id"],
            "model": properties["model"],
            "rounds": f"{properties['round']} of {properties['rounds']}",
            "asked": properties["asked"],
            "begun": properties["started"][:16].replace("T", " "),
        }
        for properties in runs
    ]
    Console().print(table(list(rows[0]), rows, len(rows))[0])


@rounds.command()
@click.argument("run")
@click.confirmation_option("--yes", prompt="Delete the run, its beliefs and its answers?")
@graph_option
@debug_option
def forget(run: str, graph: str | None) -> None:
    """Delete RUN: its beliefs in the graph and its folder of answers."""
    from kgprobe.asking import survey
    from kgprobe.servers.server import open_graph

    with open_graph(graph, ask_password) as connection:
        survey.forget(connection, run)


def _status(run: dict[str, Any]) -> dict[str, Any]:
    counts = ("round", "rounds", "batch", "asked", "unaskable", "unanswered")
    columns = ("id", "model", "probe", *counts, "sampling", "propagation", "width", "seed", "as_of", "started")
    return {column: run.get(column) for column in columns}


@contextmanager
def watched(run: str, total: int) -> Iterator["Watch"]:
    """Show a run's progress on stderr, and let Ctrl-C end it after the round at work."""
    from kgprobe.asking.survey import Watch
    from kgprobe.progress import Bar, progress_bar

    right, answered = 0, 0
    bar: Bar
    interrupted: Callable[[], bool]

    with ExitStack() as stack:

        def on_start(facts: int, applied: int, changed: bool) -> None:
            nonlocal bar, interrupted
            click.echo(f"{facts:,} facts can be asked; {applied} of {total} rounds are done.", err=True)
            if changed:
                click.echo(
                    "The graph was loaded into since the run began; it goes on with what is there now.", err=True
                )
            # Not before: the conversion of a model has a bar of its own, and Ctrl-C ends it at once.
            bar = stack.enter_context(progress_bar(f"Run {run}", total, "questions"))
            interrupted = stack.enter_context(interruptible("round"))
            bar.advance_to(applied, 0)

        def on_round(round_: "Round") -> None:
            nonlocal right, answered
            verdicts = [outcome.verdict for outcome in round_.outcomes]
            right += sum(verdict.value == "right" for verdict in verdicts)
            answered += sum(verdict.counts for verdict in verdicts)
            note = f"{right / answered:.0%} right" if answered else ""
            bar.advance_to(round_.number, len(verdicts), note)

        yield Watch(on_start, on_round, lambda: interrupted())


def show(result: "Survey", as_json: bool, graph: str | None) -> None:
    """Print what a run came to: a table and the page's address, or one JSON object.

    Args:
        graph: what ``--graph`` has to be for the run to be found again; None if nothing.
    """
    report = result.report
    if report.hubs:
        named = ", ".join(list(report.hubs.values())[:5])
        more = f" and {len(report.hubs) - 5} more" if len(report.hubs) > 5 else ""
        click.echo(f"Too many facts to propagate through: {named}{more}. --max-degree moves the limit.", err=True)
    if as_json:
        click.echo(json.dumps(result.as_json(), ensure_ascii=False))
    elif result.finding is None or result.page is None:
        click.echo(
            f"Nothing was asked: {report.facts:,} facts can be asked, {report.unaskable:,} turned out not to be."
        )
    else:
        from rich.console import Console

        from kgprobe.report.finding_table import print_finding

        print_finding(result.finding, Console())
        click.echo(f"Page: {result.page.as_uri()}")
        click.echo(f"Answers: {result.outcomes}")
    if report.stopped == "sure enough":
        click.echo(f"Sure enough after round {report.rounds}: the intervals are no broader than asked for.", err=True)
    if report.stopped in ("asked to", "budget spent"):
        where = f" --graph {shlex.quote(graph)}" if graph else ""
        why = "the budget does not last for another round" if report.stopped == "budget spent" else "stopped"
        more = f" {report.reason}" if report.reason else ""
        go_on = f"Go on with: kgprobe rounds resume {report.run}{where}"
        click.echo(f"After round {report.rounds}, {why}.{more} {go_on}", err=True)


def show_side_by_side(surveys: "Sequence[Survey]") -> None:
    """Print the rates of several models in one table."""
    from rich.console import Console

    from kgprobe.report.finding_table import print_side_by_side

    findings = [survey.finding for survey in surveys if survey.finding is not None]
    print_side_by_side(findings, Console())
