"""``kgprobe demo``: load the example graph, run rounds with the demo model, write a page."""

import click
import cloup

from kgprobe.cli.options import ask_password, debug_option, full_option, in_flags, json_option, seed_option


@cloup.command()
@cloup.option("--rounds", type=click.IntRange(min=1), default=8, show_default=True, help="Number of rounds.")
@cloup.option(
    "--facts-per-round", type=click.IntRange(min=1), default=32, show_default=True, help="Facts asked in each round."
)
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
def demo(
    rounds: int, facts_per_round: int, graph: str | None, again: bool, seed: int, full: bool, as_json: bool
) -> None:
    """Show all steps: example graph, small model, rounds, results page.

    Loads a graph of countries into an embedded graph database, asks Gemma 3 270M about it in adaptive rounds, and shows
    the known and the unknown facts. The first time, the model is converted, which takes about a minute. A finished demo
    shows its results again; an interrupted one continues. The graph stays in its folder: query it with `kgprobe graph
    shell --graph FOLDER`.

    \b
    kgprobe demo
    kgprobe demo --graph bolt://host:7687
    """  # noqa: D301
    from kgprobe.api.demo import RUN, demo_graph, run_demo
    from kgprobe.cli.rounds import print_run
    from kgprobe.cli.running import running

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
