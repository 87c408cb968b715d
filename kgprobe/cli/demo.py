"""``kgprobe demo``: the whole way on the example graph and the demo model."""

import click
import cloup

from kgprobe.cli.options import ask_password, debug_option, full_option, in_flags, json_option, seed_option


@cloup.command()
@cloup.option("--rounds", type=click.IntRange(min=1), default=8, show_default=True, help="Rounds to run.")
@cloup.option(
    "--facts-per-round", type=click.IntRange(min=1), default=32, show_default=True, help="Facts asked a round."
)
@cloup.option(
    "--graph",
    metavar="ADDRESS|FOLDER",
    help="Ask in this graph, which is empty or has the example alone: a server's address, or a folder. KGPROBE_GRAPH"
    " has no say here.  [default: a folder of the demo's own]",
)
@cloup.option("--again", is_flag=True, help="Ask anew, where it was done before.")
@seed_option
@full_option
@json_option
@debug_option
def demo(
    rounds: int, facts_per_round: int, graph: str | None, again: bool, seed: int, full: bool, as_json: bool
) -> None:
    """The whole way: example graph, small model, rounds, finding.

    Loads a graph of countries into an embedded graph database, asks Gemma 3 270M about it in adaptive rounds, and shows
    which facts the model knows and which it does not. The first time, the model is converted, which takes a minute
    or so. Done before, it shows what was found; interrupted, it goes on. The graph stays in a folder of its own;
    `kgprobe graph shell --graph FOLDER` looks at it.

    \b
    kgprobe demo
    kgprobe demo --graph bolt://host:7687
    """  # noqa: D301
    from kgprobe.api.demo import RUN, demo_graph, run_demo
    from kgprobe.cli.rounds import print_run
    from kgprobe.cli.watching import running

    def say(message: str) -> None:
        click.echo(in_flags(message), err=True)

    with running(RUN) as callbacks:
        result = run_demo(
            graph,
            rounds=rounds,
            facts_per_round=facts_per_round,
            seed=seed,
            again=again,
            callbacks=callbacks,
            say=say,
            ask_password=ask_password,
        )
    with result.graph:
        print_run(result, as_json, graph or str(demo_graph()), full)
