"""``kgprobe estimate``: the share of the whole graph that a model knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.options import ApiLimits
from kgprobe.beliefs.register import ESTIMATE_SAMPLING, SAMPLING_RULES
from kgprobe.cli.commands import OptionsFirst, given_options
from kgprobe.cli.options import (
    ask_password,
    debug_option,
    explain_option,
    graph_option,
    json_option,
    year_relation_option,
)
from kgprobe.cli.rendering import render
from kgprobe.cli.running import open_models, report_end, running
from kgprobe.progress import waiting

if TYPE_CHECKING:
    from kgprobe.results.graph_rates import GraphRates
    from kgprobe.running.callbacks import Callbacks


@cloup.command(cls=OptionsFirst)
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
    type=click.FloatRange(min=0, max=0.5, min_open=True, max_open=True),
    metavar="P",
    help="Ask until the 95% interval is at most ±P, for example 0.02 for 2 points.  [default: ask nothing]",
)
@cloup.option(
    "--rounds", type=click.IntRange(min=1), help="With --precision: maximum number of rounds.  [default: no limit]"
)
@year_relation_option
@explain_option
@given_options(("Models behind an API", ApiLimits), argument="api")
@graph_option
@json_option
@debug_option
def estimate(
    run: str | None,
    predictors: tuple[str, ...],
    precision: float | None,
    rounds: int | None,
    year_relation: str | None,
    api: dict[str, Any],
    graph: str | None,
    as_json: bool,
) -> None:
    """Estimate how much of the whole graph a model knows from the answers of RUN.

    Estimates the accuracy over all facts, and by relation, type, popularity and year. Its 95% intervals are valid for
    every choice of questions and every prediction of the other facts. Runs begun with --aim estimate need fewest
    questions. With --precision, continues the run, whose probe and model are known.

    \b
    kgprobe rounds run distractors --model demo --aim estimate --name of-all
    kgprobe estimate of-all
    kgprobe estimate of-all --precision 0.02
    """  # noqa: D301
    from kgprobe.api.graph_rates import estimate_rates
    from kgprobe.api.rounds import open_run
    from kgprobe.servers.opening import open_graph

    with open_models(api) as models, open_graph(graph, ask_password=ask_password) as connection:
        run = open_run(connection, run).name
        if precision is not None:
            _forecast(estimate_rates(connection, run, predictors=predictors), precision)
        asking = running(run) if precision is not None else _estimating()
        with asking as callbacks:
            estimated = estimate_rates(
                connection,
                run,
                predictors=predictors,
                precision=precision,
                rounds=rounds,
                year_relation=year_relation,
                models=models,
                callbacks=callbacks,
            )
    render(estimated, as_json)
    _report_end(estimated, precision)


@contextmanager
def _estimating() -> Iterator["Callbacks"]:
    """Show progress while no questions are asked."""
    from kgprobe.running.callbacks import NO_CALLBACKS

    with waiting("Estimating"):
        yield NO_CALLBACKS


def _forecast(estimated: "GraphRates", precision: float) -> None:
    """Print on stderr the expected number of questions for a precision, in this run and in a new one."""
    more, fresh = estimated.questions_for(precision)
    if not more:
        return
    run = estimated.run
    click.echo(f"±{precision:g} probably takes about {more:,} more questions of this run.", err=True)
    if fresh < more and run["sampling"] != ESTIMATE_SAMPLING:
        click.echo(
            f"A new run with --aim estimate takes about {fresh:,} in all: it asks"
            f" {SAMPLING_RULES[ESTIMATE_SAMPLING].help}, and this one (sampling {run['sampling']}) draws some of them"
            " seldom.",
            err=True,
        )


def _report_end(estimated: "GraphRates", precision: float | None) -> None:
    """Print on stderr why asking ended, and how to continue."""
    from kgprobe.running.callbacks import Stop

    if estimated.stopped is None:
        return
    where = f"round {estimated.run['round']}"
    if estimated.stopped is Stop.DONE:
        click.echo(str(estimated.reason), err=True)
    else:
        report_end(
            estimated.stopped,
            estimated.reason,
            where,
            f"Go on with: kgprobe estimate {estimated.run['id']} --precision {precision}",
        )
