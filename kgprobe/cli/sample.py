"""``kgprobe sample``: show facts, distractors, negatives and questions before asking them."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.options import option, options_of
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import counted, visible, visible_lines
from kgprobe.cli.commands import given_options
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    count_option,
    draw_options,
    facts_named,
    force_option,
    graph_options,
    model_option,
    open_graph,
    output_option,
    refuse_existing,
    relations_option,
)
from kgprobe.cli.rendering import render, render_rows, with_graph
from kgprobe.cli.running import with_models
from kgprobe.labelling.control_options import ControlOptions
from kgprobe.probes.distractors import DistractorOptions, FormerOption
from kgprobe.probes.questions import QuestionOptions
from kgprobe.probes.statements import NegativeOptions
from kgprobe.sampling.drawing import DrawOptions

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.results.result import Result


@dataclass(frozen=True, slots=True)
class SentencesOption:
    """Option of `sample facts`."""

    sentences: int | None = option(
        1,
        "Show each fact in so many cloze sentences of its relation, drawn at random, or in all.",
        minimum=1,
        none="all",
        metavar="N|all",
        shown_default="no sentences",
    )


# Options of making a question; the probe has the options of asking and grading it.
_OF_QUESTIONS = ("difficulty", "with_alias", "wording")


@click.group(cls=CommandGroup)
def sample() -> None:
    """Show facts, distractors, negatives and questions as a probe draws them."""


@sample.command()
@facts_named
@model_option("Model for optimal distractors: demo, hf:NAME, or hf:./folder with a model in it.", required=False)
@given_options((None, DistractorOptions))
@draw_options
@with_models()
@with_graph("Choosing distractors", render_rows)
def distractors(graph: "Graph", **options: Any) -> "Result":
    """Show the distractors of a fact, best first, with the reason for each.

    Optimal distractors depend on the model and on the sentence.

    \b
    kgprobe sample distractors --fact "Q142 P36 Q90"
    kgprobe sample distractors --fact "France capital Paris" --distractors 20
    kgprobe sample distractors --fact "France | capital | Paris" \\
        --strategy exact-optimal --model demo
    """  # noqa: D301
    return kgprobe.sample_distractors(graph, **options)


@sample.command()
@facts_named
@count_option("--limit", default=10, help="Number of negatives.")
@given_options((None, FormerOption), argument="rule")
@given_options(("Negatives of statements", NegativeOptions), argument="given")
@draw_options
@with_graph("Choosing negatives", render_rows)
def negatives(graph: "Graph", given: dict[str, Any], rule: dict[str, Any], **options: Any) -> "Result":
    """Show false objects for yes/no questions about a fact, drawn at random.

    Each is the object of another fact of the relation, so that its type does not give it away. A former object is shown
    with its end.

    With --replace or --any-type, shows the false statements that a statement probe would ask.

    \b
    kgprobe sample negatives --fact "France capital Paris"
    kgprobe sample negatives --fact "Germany | capital | Berlin" --limit 50
    kgprobe sample negatives --fact "France capital Paris" --replace any
    """  # noqa: D301
    if given and rule:
        raise click.UsageError("--former is for questions: statements have no objects of any time as negatives.")
    if given:
        return kgprobe.sample_statements(graph, **options, **given)
    return kgprobe.sample_negatives(graph, **options, **rule)


def _show_questions(result: "Result", as_json: bool) -> None:
    if as_json:
        render_rows(result, as_json=True)
        return
    for row in result.rows():
        click.secho(visible(row["about"]), bold=True)
        if row["prompt"] is not None:
            click.echo(textwrap.indent(visible_lines(row["prompt"]), "  "))
            click.echo(visible(f"Right: {row['answer']}"))


@sample.command()
@facts_named
@given_options(
    (None, QuestionOptions),
    left_out=[each.name for each in options_of(QuestionOptions) if each.name not in _OF_QUESTIONS],
)
@draw_options
@with_graph("Choosing questions", _show_questions)
def questions(graph: "Graph", **options: Any) -> "Result":
    """Show the question about a fact for this --seed, its prompt and the right answer.

    \b
    kgprobe sample questions --fact "France capital Paris" --difficulty easy
    """  # noqa: D301
    return kgprobe.sample_questions(graph, **options)


@sample.command()
@relations_option("Facts of this relation only; repeatable.")
@count_option("--limit", default=10, help="Number of facts.")
@given_options((None, DrawOptions))
@given_options((None, SentencesOption), argument="written")
@output_option("With --sentences: write a CSV table for annotations.")
@force_option
@draw_options
@graph_options
def facts(
    graph: str | None, as_json: bool, written: dict[str, Any], output: Path | None, force: bool, **options: Any
) -> None:
    """Show askable facts, drawn at random: current, of active relations, with a name at both ends.

    With --sentences, shows them in cloze sentences, for people to annotate errors. --output writes a table: people fill
    in its column errors (kinds, separated by commas, or - for none) and its column correction. Then `kgprobe study
    verbalizations` counts the errors, and `kgprobe study robustness` uses the corrections.

    \b
    kgprobe sample facts --relation P36 --limit 20
    kgprobe sample facts --limit 1000 --balance popularity --with-former
    kgprobe sample facts --limit 77 --sentences 1 -o ann.csv
    """  # noqa: D301
    if output is None:
        draw: Any = kgprobe.sample_sentences if written else kgprobe.sample_facts
        with open_graph(graph) as connection, waiting("Choosing facts"):
            result = draw(connection, **options, **written)
        render_rows(result, as_json)
        return
    if not written:
        raise click.UsageError("--output is for --sentences.")
    refuse_existing(output, force, "--output")
    with open_graph(graph) as connection, waiting("Writing sentences"):
        table = kgprobe.sample_sentences(connection, **options, **written)
    for note in table.notes:
        click.echo(visible(note), err=True)
    click.echo(f"{counted(len(table), 'sentence')}: {table.write(output)}")


@sample.command()
@cloup.option(
    "--near",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="Taught facts: a file as for `kgprobe probe --facts`, a file of roles, or a data set in JSON Lines, whose"
    " texts are searched for names of entities.",
)
@given_options((None, ControlOptions))
@output_option("Write all facts with their roles, in JSON Lines.")
@force_option
@draw_options
@graph_options
def controls(graph: str | None, as_json: bool, output: Path | None, force: bool, **options: Any) -> None:
    """Draw control facts of a fine-tune: facts around the taught ones, in rings from near to far.

    Rings: same subject, inverse, same relation, neighbour, two hops, far. They are disjoint, and matched in the
    popularity of their facts, so that losses are comparable. Ask all facts before and after the fine-tune with
    `kgprobe probe --facts`, and test with `kgprobe check --roles`.

    \b
    kgprobe sample controls --near taught.tsv -o roles.jsonl
    kgprobe sample controls --near train.jsonl --limit 1600 -o roles.jsonl
    """  # noqa: D301
    if output is not None:
        refuse_existing(output, force, "--output")
    with open_graph(graph) as connection, waiting("Choosing controls"):
        result = kgprobe.sample_controls(connection, **options)
    files = [] if output is None else [result.write(output)]
    render(result, as_json, files=files)
    if output is not None and not as_json:
        click.echo(f"Roles: {output}")
