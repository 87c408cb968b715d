"""``kgprobe probe``: one method over a sample of facts."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from kgprobe.cli.facts import FactsAsked, chosen, facts_options
from kgprobe.cli.options import (
    ApiChoice,
    Command,
    Common,
    DistractorChoice,
    QuestionChoice,
    api_options,
    ask_password,
    common_options,
    distractor_options,
    explain_option,
    model_option,
    question_options,
)
from kgprobe.cli.running import interruptible, load_model, open_models
from kgprobe.cli.sections import SectionedCommand, section

if TYPE_CHECKING:
    from kgprobe.asking.measurement import Measurement, Progress
    from kgprobe.probes.outcome import Outcome


@click.group()
def probe() -> None:
    """Ask a model about a sample of facts by one method, and keep every number.

    The same command goes on with what an interrupted one began, and shows what a finished one found.
    """


_NAME = click.option("--name", metavar="NAME", help="The results' folder.  [default: made from the settings]")


def _batch(default: int) -> Callable[[Command], Command]:
    return click.option(
        "--batch", type=click.IntRange(min=1), default=default, show_default=True, help="Facts asked together."
    )


@probe.command()
@model_option
@facts_options
@distractor_options(distractors=100, sentences="all")
@_batch(16)
@_NAME
@common_options
def distractors(
    model: str, facts: FactsAsked, choice: DistractorChoice, batch: int, name: str | None, common: Common
) -> None:
    """Does the model prefer the right object to wrong ones? Min@n and Avg@n, for every n up to --distractors.

    \b
    kgprobe probe distractors --model demo --sample 200
    kgprobe probe distractors --model hf:EleutherAI/pythia-160m --facts facts.jsonl --strategy temporal-semantic
    """  # noqa: D301
    from kgprobe.asking.distractor_measurement import measure_distractors
    from kgprobe.graph.state import graph_state
    from kgprobe.probes.registry import make_distractor_probe
    from kgprobe.servers.server import open_graph

    options = choice.probe_options(model, facts.relations, common.as_of)
    with open_graph(common.graph, ask_password) as connection:
        scorer = load_model(model)
        made = make_distractor_probe(connection, scorer, options)
        keys, missing = chosen(connection, facts, made.relations, common)
        with watched(f"Probing {model}") as progress:
            result = measure_distractors(
                made,
                keys,
                common.seed,
                batch=batch,
                name=name,
                origin={"graph": graph_state(connection)},
                progress=progress,
            )
    _show_distractors(result, missing, common.as_json)
    _tell_end(result)


@probe.command(cls=SectionedCommand)
@click.option(
    "--model",
    required=True,
    metavar="SPEC",
    help="demo, hf:NAME of the Hugging Face hub, hf:./folder with a model in it, openai:NAME, or openai:NAME@URL of a"
    " server.",
)
@explain_option
@facts_options
@question_options
@section("Models behind an API", api_options)
@_batch(64)
@_NAME
@common_options
def questions(
    model: str,
    facts: FactsAsked,
    questions: QuestionChoice,
    api: ApiChoice,
    batch: int,
    name: str | None,
    common: Common,
) -> None:
    """Does the model answer questions right: yes or no, and who, which or what? One question a fact.

    Ends in what was right by kind of question, and in the mistakes, each with its kind. Where a budget is spent or an
    API gave no answer, the same command goes on, and asks again what got none.

    \b
    kgprobe probe questions --model demo --sample 200
    kgprobe probe questions --model openai:NAME --sample 1000 --max-cost 2 --price-in 0.15 --price-out 0.6
    """  # noqa: D301
    from kgprobe.asking.measurement import measure
    from kgprobe.graph.state import graph_state
    from kgprobe.probes.registry import make_probe
    from kgprobe.servers.server import open_graph

    options = questions.probe_options(model, facts.relations, common.as_of)
    with open_models(api) as models, open_graph(common.graph, ask_password) as connection:
        made = make_probe(connection, models, options)
        keys, missing = chosen(connection, facts, made.relations, common)
        with watched(f"Probing {model}") as progress:
            result = measure(
                made,
                keys,
                common.seed,
                way=options.difficulty,
                batch=batch,
                name=name,
                origin={"graph": graph_state(connection)},
                progress=progress,
            )
    _show_questions(result, missing, common.as_json)
    _tell_end(result)


@contextmanager
def watched(title: str) -> Iterator["Progress"]:
    """Show a measurement's progress on stderr, and let Ctrl-C end it after the batch at work."""
    from kgprobe.asking.measurement import Progress
    from kgprobe.progress import Bar, progress_bar

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
            verdicts = [outcome.verdict for outcome in outcomes]
            right += sum(verdict.value == "right" for verdict in verdicts)
            answered += sum(verdict.counts for verdict in verdicts)
            done += len(outcomes)
            bar.advance_to(done, len(outcomes), f"{right / answered:.0%} right" if answered else "")

        yield Progress(on_start, on_batch, lambda: interrupted())


def _show_distractors(result: "Measurement", missing: int, as_json: bool) -> None:
    """Print what a measurement by distractors came to: a table, or one JSON object."""
    from kgprobe.analysis.curves import curve_rows, mean_curve
    from kgprobe.asking.distractor_measurement import TABLE, measured_in
    from kgprobe.asking.measurement import OUTCOMES
    from kgprobe.report.measure_table import measure_table, reasons_note

    measured = measured_in(result)
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
        notes += _missing_note(missing)
        title = f"{probe['model']} · {probe['strategy']['strategy']} distractors · {asked:,} facts"
        if curves:
            Console().print(measure_table(title, *curves, notes))
        else:
            click.echo("\n".join(["Nothing could be asked.", *notes]))
        click.echo(f"Answers: {outcomes}")
        if result.complete:
            click.echo(f"Table: {table}")


def _show_questions(result: "Measurement", missing: int, as_json: bool) -> None:
    """Print what a measurement by questions came to: tables, or one JSON object."""
    from collections import Counter

    from kgprobe.analysis.answers import count_answers
    from kgprobe.asking.measurement import OUTCOMES

    answers = count_answers(result.outcomes())
    reasons: dict[str, Counter[str]] = {"unaskable": Counter(), "unanswered": Counter()}
    for outcome in result.outcomes():
        if outcome["verdict"] in reasons:
            reasons[outcome["verdict"]][outcome["reason"]] += 1
    asked = sum(kind.asked for kind in answers.kinds)
    described = result.config["probe"]
    outcomes = result.folder / OUTCOMES
    if as_json:
        shown = {
            "model": described["model"],
            "difficulty": described["difficulty"],
            "facts": result.facts,
            "done": result.done,
            "stopped": result.stopped,
            "asked": asked,
            **{name: dict(its.most_common()) for name, its in reasons.items()},
            "not_in_graph": missing,
            **answers.as_json(),
            "outcomes": str(outcomes),
        }
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    from rich.console import Console, Group, RenderableType
    from rich.text import Text

    from kgprobe.report.answer_tables import answer_tables
    from kgprobe.report.measure_table import reasons_note
    from kgprobe.report.rows import visible

    notes = [
        *([reasons_note(reasons["unaskable"])] if reasons["unaskable"] else []),
        *([reasons_note(reasons["unanswered"], "No answer came")] if reasons["unanswered"] else []),
        *_missing_note(missing),
    ]
    title = f"{described['model']} · {described['difficulty']} questions · {asked:,} answers"
    parts: list[RenderableType] = [Text(visible(title), style="bold"), *answer_tables(answers)]
    Console().print(Group(*parts, *(Text(visible(note)) for note in notes)))
    click.echo(f"Answers: {outcomes}")


def _missing_note(missing: int) -> list[str]:
    return [f"{missing:,} lines of the list name no fact of this graph."] if missing else []


_ENDS = {
    "asked to": "Stopped after",
    "budget spent": "The budget does not last for another batch after",
    "no answers": "Not one of the last questions got an answer, after",
}


def _tell_end(result: "Measurement") -> None:
    """Say on stderr how to go on with a measurement that is not at its end."""
    if result.stopped in _ENDS:
        click.echo(
            f"{_ENDS[result.stopped]} {result.done:,} of {result.facts:,} facts; the same command goes on.", err=True
        )
    elif result.unanswered:
        click.echo(f"{result.unanswered:,} questions got no answer; the same command asks them again.", err=True)
