"""``kgprobe templates``: list, check, write and convert the templates of relations."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

import kgprobe
from kgprobe.base.errors import KgprobeError
from kgprobe.cli.commands import Choice, only_with
from kgprobe.cli.groups import CommandGroup
from kgprobe.cli.options import (
    BEHIND_API,
    OUTPUT_FILE,
    as_of_option,
    ask_in_option,
    count_option,
    draw_options,
    graph_options,
    model_option,
    open_graph,
    relations_option,
)
from kgprobe.cli.rendering import render, render_rows, show_notes
from kgprobe.cli.running import progress_bars, with_models

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.verbalize.templates.writing import WrittenRelation

_relations_option = relations_option("This relation only; repeatable.  [default: all]")


@click.group(cls=CommandGroup)
def templates() -> None:
    """List, check and write templates: sentences with [X] for the subject and [Y] for the object.

    A cloze ends in [Y]; a model scores names as its continuation. Templates are loaded with the relations: `kgprobe
    load table --relations FILE`.
    """


@templates.command("list")
@cloup.argument("file", required=False, type=click.Path(path_type=Path), help="With --check: file of relations.")
@cloup.option("--check", is_flag=True, help="List the faults of the templates; exit with 1 if there are errors.")
@_relations_option
@as_of_option
@ask_in_option
@graph_options
@click.pass_context
def list_(
    ctx: click.Context,
    file: Path | None,
    check: bool,
    relations: tuple[str, ...],
    as_of: str | None,
    ask_in: str | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """List each relation's templates, filled with a fact of the graph, or their faults.

    --check reports errors, which make a template unusable or misleading, and warnings, which need your judgement. FILE
    has relations in the format of `kgprobe load table --relations`, and is checked before it is loaded. With --ask-in
    CODE, other languages than English are checked for form and repetitions only.

    \b
    kgprobe templates list --relation capital
    kgprobe templates list --check
    kgprobe templates list templates.jsonl --check
    """  # noqa: D301
    if not check:
        if file is not None:
            raise click.UsageError("FILE is for --check; without it, the templates of the graph are listed.")
        with open_graph(graph, ask_in=ask_in) as connection:
            listed = kgprobe.list_templates(connection, relations, as_of=as_of)
        render_rows(listed, as_json)
        return
    if file and ask_in:
        raise click.UsageError("--ask-in is for the templates of a graph; a FILE is checked in English.")
    opening: AbstractContextManager[Graph | Path] = nullcontext(file) if file else open_graph(graph, ask_in=ask_in)
    with opening as checked, progress_bars() as on_progress:
        result = kgprobe.check_templates(checked, relations, on_progress=on_progress)
    render(result, as_json)
    if result.errors:
        ctx.exit(1)


@templates.command()
@model_option(f"Model that writes: {BEHIND_API}", required=False)
@cloup.option("--from-label", is_flag=True, help="Make plain templates from each relation's label, without a model.")
@cloup.option(
    "--patterns",
    "files",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="Convert a file of public patterns instead, without a graph; repeatable.",
)
@cloup.option(
    "--mined",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Convert a file of patterns mined from a corpus; repeatable. They become mined_clozes.",
)
@cloup.option(
    "--output",
    "-o",
    type=OUTPUT_FILE,
    default=Path("templates.jsonl"),
    show_default=True,
    help="File for the relations with their templates; existing ones are kept, except with --patterns.",
)
@cloup.option("--force", is_flag=True, help="Overwrite the file.")
@_relations_option
@count_option("--proposals", default=8, help="Answers of the model per relation.")
@count_option("--keep", default=3, help="Maximum number of clozes per relation.")
@cloup.option(
    "--fallback",
    type=Choice(["generic", "none"]),
    default="generic",
    show_default=True,
    help="Replacement where no proposal passes: a template made from the label, or none.",
)
@cloup.option("--load", is_flag=True, help="Load the file into the graph without review.")
@ask_in_option
@draw_options
@graph_options
@with_models(api=("batch_api",))
@click.pass_context
def write(
    ctx: click.Context,
    /,
    model: str | None,
    files: tuple[Path, ...],
    mined: tuple[Path, ...],
    ask_in: str | None,
    graph: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write templates for the active relations that lack some, into a file for review.

    A relation gets up to three clozes, a statement, a yes/no question and a wh-question, clozes in the past, and
    reverse clozes and questions. The model sees relations with facts and templates, and three facts of the new
    relation. Proposals must pass `kgprobe templates list --check` without warnings, must not express another relation,
    and must pass a second reading by the model: good English that means the relation. Look through the listed doubts,
    and for reversed sentences ("[X] is the founder of [Y]" although [Y] founded it): small models write badly, and the
    checks do not find everything. Repeat the command to continue a file. With --ask-in CODE, the templates are in that
    language, and rules of English are not checked.

    --patterns converts BEAR's patterns (its folder, or metadata_relations.json), LAMA's (lines with `relation` and
    `template`), ParaRel's (lines with `pattern`; the file is named after its relation), tables of relations with
    `bear_templates` and `pararel_patterns`, or WikiFactDiff's (verbalizations.jsonl or the data set; the five most
    frequent sentences of a relation). Patterns that end in [Y] become clozes, others statements; unusable lines and
    patterns are reported and left out. --mined converts LPAQ's (lines with `template` and optionally `weight`; or
    `relation` and `templates` with weights), for probes with --clozes mined. Put both kinds into one file, because
    loading replaces the templates of a relation.

    \b
    kgprobe templates write --model hf:Qwen/Qwen2.5-7B-Instruct -o templates.jsonl
    kgprobe templates write --model openai:NAME --max-tokens 1000000
    kgprobe templates write --model openai:NAME --ask-in de -o german.jsonl
    kgprobe templates write --from-label -o templates.jsonl
    kgprobe templates write --patterns BEAR -o templates.jsonl
    kgprobe templates write --patterns P19.jsonl --mined mine/P19.jsonl
    kgprobe load table --relations templates.jsonl
    """  # noqa: D301
    from kgprobe.models.api.spending import BudgetSpentError

    if files or mined:
        only_with(ctx, "--patterns and --mined", ("files", "mined", "output", "force", "as_json"))
        _convert(files, mined, options["output"], options["force"], as_json)
        return

    def report_failure(written: "WrittenRelation") -> None:
        if written.reason is not None:
            relation = written.relation
            click.echo(f"{relation.label or relation.id} ({relation.id}): {written.reason}.", err=True)

    title = f"Writing with {model}" if model else "Writing"
    with open_graph(graph, ask_in=ask_in) as connection, progress_bars(title) as on_progress:
        try:
            result = kgprobe.write_templates(
                connection, model=model, on_progress=on_progress, on_written=report_failure, **options
            )
        except BudgetSpentError as error:
            raise KgprobeError(
                f"{error} Finished relations are in the file; repeat the command to continue."
            ) from error
    if as_json or result.templates or result.loaded:
        render(result, as_json)
    else:
        show_notes(result.notes)
    if result.failed and not result.templates and not result.kept:
        raise KgprobeError("No template could be written.")


def _convert(files: tuple[Path, ...], mined: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Convert files of patterns into one file of relations with templates."""
    result = kgprobe.convert_patterns(files, output, force=force, mined=mined)
    show_notes(result.notes)
    click.echo(json.dumps(result.to_dict()) if as_json else result.summary())
