"""``kgprobe probe``: one method over a sample of facts."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from kgprobe.cli.facts import FactsAsked, chosen, facts_options
from kgprobe.cli.options import Common, DistractorChoice, ask_password, common_options, distractor_options, model_option
from kgprobe.cli.running import interruptible, load_model

if TYPE_CHECKING:
    from kgprobe.measurement import Measurement, Progress
    from kgprobe.probes.outcome import Outcome


@click.group()
def probe() -> None:
    """Ask a model about a sample of facts by one method, and keep every number.

    The same command goes on with what an interrupted one began, and shows what a finished one found.
    """


@probe.command()
@model_option
@facts_options
@distractor_options(distractors=100, sentences="all")
@click.option("--batch", type=click.IntRange(min=1), default=16, show_default=True, help="Facts asked together.")
@click.option("--name", metavar="NAME", help="The results' folder.  [default: made from the settings]")
@common_options
def distractors(
    model: str, facts: FactsAsked, choice: DistractorChoice, batch: int, name: str | None, common: Common
) -> None:
    """Does the model prefer the right object to wrong ones? Min@n and Avg@n, for every n up to --distractors.

    \b
    kgprobe probe distractors --model demo --sample 200
    kgprobe probe distractors --model hf:EleutherAI/pythia-160m --facts facts.jsonl --strategy temporal-semantic
    """  # noqa: D301
    from kgprobe.graph.server import open_graph
    from kgprobe.graph.state import graph_state
    from kgprobe.measurement import measure
    from kgprobe.probes.registry import make_distractor_probe

    options = choice.probe_options(model, facts.relations, common.as_of)
    with open_graph(common.graph, ask_password) as connection:
        scorer = load_model(model)
        made = make_distractor_probe(connection, scorer, options)
        keys, missing = chosen(connection, facts, made.relations, common)
        with watched(f"Probing {model}") as progress:
            result = measure(
                made,
                keys,
                common.seed,
                batch=batch,
                name=name,
                origin={"graph": graph_state(connection)},
                progress=progress,
            )
    show(result, missing, common.as_json)


@contextmanager
def watched(title: str) -> Iterator["Progress"]:
    """Show a measurement's progress on stderr, and let Ctrl-C end it after the batch at work."""
    from kgprobe.measurement import Progress
    from kgprobe.report.progress import Bar, progress_bar

    bar: Bar
    interrupted: Callable[[], bool]
    done = right = answered = 0
    with ExitStack() as stack:

        def on_start(facts: int, before: int) -> None:
            nonlocal bar, interrupted, done
            click.echo(f"{title}: {facts:,} facts, {before:,} of them measured before.", err=True)
            done = before
            bar = stack.enter_context(progress_bar(title, facts, "facts", before))
            interrupted = stack.enter_context(interruptible("batch"))

        def on_batch(outcomes: Sequence["Outcome"]) -> None:
            nonlocal done, right, answered
            verdicts = [outcome.verdict.value for outcome in outcomes]
            right += verdicts.count("right")
            answered += verdicts.count("right") + verdicts.count("wrong")
            done += len(outcomes)
            bar.advance_to(done, len(outcomes), f"{right / answered:.0%} right" if answered else "")

        yield Progress(on_start, on_batch, lambda: interrupted())


def show(result: "Measurement", missing: int, as_json: bool) -> None:
    """Print what a measurement came to: a table, or one JSON object."""
    from kgprobe.analysis.curves import curve_rows, mean_curve
    from kgprobe.measurement import OUTCOMES, TABLE
    from kgprobe.report.measure_table import measure_table, reasons_note

    measured = result.measured()
    asked = len(measured.facts)
    outcomes, table = result.folder / OUTCOMES, result.folder / TABLE
    curves = (mean_curve(measured.min_at_n), mean_curve(measured.avg_at_n)) if asked else None
    if as_json:
        shown = {
            "model": result.config["probe"]["model"],
            "strategy": result.config["probe"]["strategy"],
            "facts": result.facts,
            "done": result.done,
            "asked": asked,
            "unaskable": dict(measured.unaskable),
            "not_in_graph": missing,
            "min_at_n": curve_rows(curves[0]) if curves else [],
            "avg_at_n": curve_rows(curves[1]) if curves else [],
            "outcomes": str(outcomes),
            "table": str(table) if result.complete else None,
        }
        click.echo(json.dumps(shown, ensure_ascii=False))
    else:
        from rich.console import Console

        probe = result.config["probe"]
        notes = []
        fewer = int((measured.present < probe["distractors"]).sum())
        if fewer:
            notes.append(
                f"{fewer:,} facts have fewer than {probe['distractors']} distractors; they count with those they have."
            )
        if measured.unaskable:
            notes.append(reasons_note(measured.unaskable))
        if missing:
            notes.append(f"{missing:,} lines of the list name no fact of this graph.")
        title = f"{probe['model']} · {probe['strategy']['strategy']} distractors · {asked:,} facts"
        if curves:
            Console().print(measure_table(title, *curves, notes))
        else:
            click.echo("\n".join(["Nothing could be asked.", *notes]))
        click.echo(f"Answers: {outcomes}")
        if result.complete:
            click.echo(f"Table: {table}")
    if not result.complete:
        click.echo(f"Stopped after {result.done:,} of {result.facts:,} facts; the same command goes on.", err=True)
