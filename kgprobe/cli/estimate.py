"""``kgprobe estimate``: how much of the whole graph a model knows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.options import ApiLimits
from kgprobe.cli.from_options import OptionsFirst, given_options
from kgprobe.cli.looks import show_notes, show_tables
from kgprobe.cli.options import (
    ask_password,
    debug_option,
    explain_option,
    graph_option,
    json_option,
    year_relation_option,
)
from kgprobe.cli.running import open_models
from kgprobe.cli.watching import running, tell_end
from kgprobe.progress import waiting

if TYPE_CHECKING:
    from kgprobe.results.graph_rates import EstimatedRates
    from kgprobe.running.callbacks import Callbacks


@cloup.command(cls=OptionsFirst)
@cloup.argument("run", required=False, help="The run's name.  [default: the one begun last]")
@cloup.option(
    "--from",
    "predictors",
    multiple=True,
    metavar="RUN",
    help="Expect facts to be hard that were hard in this run, of another model, say; repeatable.",
)
@cloup.option(
    "--precision",
    type=click.FloatRange(min=0, max=0.5, min_open=True, max_open=True),
    metavar="P",
    help="Ask until the 95% interval is at most ±P, such as 0.02 for 2 points.  [default: ask nothing]",
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

    For all facts, and by relation, type, popularity and year: how often the model is right, with 95% intervals that
    hold for every choice of questions and every prediction of the other facts. A run that is begun with --aim estimate
    asks the facts that are most informative about that.

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
            found = estimate_rates(
                connection,
                run,
                predictors=predictors,
                precision=precision,
                rounds=rounds,
                year_relation=year_relation,
                models=models,
                callbacks=callbacks,
            )
    show_notes(found)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        show_tables(found)
        click.echo(found.summary())
    _tell_end(found, precision)


@contextmanager
def _estimating() -> Iterator["Callbacks"]:
    """A sign of life where nothing is asked."""
    from kgprobe.running.callbacks import NO_CALLBACKS

    with waiting("Estimating"):
        yield NO_CALLBACKS


def _forecast(found: "EstimatedRates", precision: float) -> None:
    """Print on stderr how many questions a precision probably takes, and which way takes fewest."""
    more, fresh = found.questions_for(precision)
    if not more:
        return
    run = found.rates.run
    click.echo(f"±{precision:g} probably takes about {more:,} more questions of this run.", err=True)
    if fresh < more and run["sampling"] != "uniform":
        click.echo(
            f"A new run with --aim estimate takes about {fresh:,} in all: it draws facts uniformly, and this one"
            f" (sampling {run['sampling']}) draws some of them seldom.",
            err=True,
        )


def _tell_end(found: "EstimatedRates", precision: float | None) -> None:
    """Print on stderr why asking ended, and how to go on."""
    from kgprobe.running.callbacks import Stop

    if found.stopped is None:
        return
    where = f"round {found.rates.run['round']}"
    if found.stopped is Stop.DONE:
        click.echo(str(found.reason), err=True)
    else:
        tell_end(
            found.stopped,
            found.reason,
            where,
            f"Go on with: kgprobe estimate {found.rates.run['id']} --precision {precision}",
        )
