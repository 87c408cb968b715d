"""``kgprobe templates``: the sentences and questions that facts are put in."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup

from kgprobe.cli.from_options import OptionsFirst
from kgprobe.cli.groups import Group
from kgprobe.cli.looks import show_look, show_notes, show_tables
from kgprobe.cli.options import (
    Common,
    as_of_option,
    ask_password,
    common_options,
    debug_option,
    explain_option,
    graph_option,
    json_option,
    local_options,
    relations_option,
)
from kgprobe.cli.running import open_asked, open_models
from kgprobe.errors import KgprobeError

if TYPE_CHECKING:
    from kgprobe.verbalize.templates.writers import WrittenRelation

F = TypeVar("F", bound=Callable[..., Any])

_relations_option = relations_option("This relation only; repeatable.  [default: all]")


def _output_option(help_: str) -> Callable[[F], F]:
    return cloup.option(
        "--output",
        "-o",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path("templates.jsonl"),
        show_default=True,
        help=help_,
    )


@click.group(cls=Group)
def templates() -> None:
    """Look at, check and write the sentences that facts are put in.

    A relation's templates have [X] for the subject and [Y] for the object; a cloze ends in [Y], and a model is asked
    how probably it would go on with a name. They are loaded with the relations: `kgprobe load table --relations FILE`.
    """


@templates.command("list", cls=OptionsFirst)
@_relations_option
@as_of_option
@graph_option
@json_option
@debug_option
def list_(relations: tuple[str, ...], as_of: int, graph: str | None, as_json: bool) -> None:
    """Show each relation's templates, filled with a fact of the graph."""
    from kgprobe.api.templates import list_templates
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection:
        result = list_templates(connection, relations, as_of=as_of)
    show_look(result, as_json)


@templates.command(cls=OptionsFirst)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@_relations_option
@graph_option
@json_option
@debug_option
@click.pass_context
def check(ctx: click.Context, file: Path | None, relations: tuple[str, ...], graph: str | None, as_json: bool) -> None:
    """Check the templates of the graph, or of FILE before it is loaded.

    FILE has relations as `kgprobe load table --relations` reads them. Errors make a template unusable or ask
    something wrong; warnings are for a person to judge. Exits with 1 where there are errors.
    """
    from kgprobe.api.templates import check_templates
    from kgprobe.servers.opening import open_graph

    with ExitStack() as stack:
        checked = file or stack.enter_context(open_graph(graph, ask_password=ask_password))
        result = check_templates(checked, relations, on_progress=_bar("Checking", stack))
    if as_json:
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    else:
        show_tables(result)
        click.echo(result.summary())
    if result.errors:
        ctx.exit(1)


@templates.command(cls=OptionsFirst)
@cloup.option(
    "--model", metavar="SPEC", help="The model that writes: demo, hf:NAME, or hf:./folder with a model in it."
)
@cloup.option(
    "--from-label", is_flag=True, help="Make a plain sentence of each relation's label instead, without a model."
)
@_output_option("The file for the relations with their templates; those that it has already are left as they are.")
@cloup.option("--force", is_flag=True, help="Write the file anew.")
@_relations_option
@cloup.option(
    "--proposals", type=click.IntRange(min=1), default=8, show_default=True, help="Answers of the model for a relation."
)
@cloup.option("--keep", type=click.IntRange(min=1), default=3, show_default=True, help="Clozes kept, at most.")
@cloup.option("--load", is_flag=True, help="Load the file into the graph at once, without a look at it.")
@explain_option
@local_options
@common_options
def write(model: str | None, common: Common, **options: Any) -> None:
    """Write clozes for the active relations that have none, into a file for a person to look through.

    A model is shown some relations of the graph with facts and a cloze, and facts of the one to write for. What it
    proposes has to pass all of `kgprobe templates check`, warnings included, must not say another relation, and has to
    share a word with its relation or tell its facts from swapped ones; the rest is ranked by how probable the model
    finds the objects of real facts. Small models write badly, and this finds what is malformed, not all that is wrong:
    look for sentences the wrong way round ("[X] is the founder of [Y]" where [Y] founded it), of which it knows the
    simplest alone. The command goes on with a file that it began.

    \b
    kgprobe templates write --model hf:Qwen/Qwen2.5-7B-Instruct -o templates.jsonl
    kgprobe templates write --from-label -o templates.jsonl
    kgprobe load table --relations templates.jsonl
    """  # noqa: D301
    from kgprobe.api.templates import write_templates
    from kgprobe.servers.opening import open_graph

    with ExitStack() as stack:
        models = stack.enter_context(open_models({}))
        graph = stack.enter_context(open_graph(common.graph, ask_password=ask_password))
        result = write_templates(
            graph,
            model=open_asked(models, model) if model else None,
            seed=common.seed,
            as_of=common.as_of,
            on_progress=_bar(f"Writing with {model}" if model else "Writing", stack),
            on_written=_tell_failed,
            **options,
        )
    show_notes(result)
    if common.as_json:
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    elif result.written or result.loaded:
        show_tables(result)
        click.echo(result.summary())
    if result.failed and not result.written and not result.kept:
        raise KgprobeError("No template could be written.")


def _bar(title: str, stack: ExitStack) -> Callable[[int, int], None]:
    """Shows on stderr how many relations are done, from the first time that it is called on."""
    from kgprobe.progress import Bar, progress_bar

    bar: Bar | None = None

    def show(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = stack.enter_context(progress_bar(title, total, "relations"))
        bar.move_to(done, done)

    return show


def _tell_failed(written: "WrittenRelation") -> None:
    if written.reason is not None:
        relation = written.relation
        click.echo(f"{relation.label or relation.id} ({relation.id}): {written.reason}.", err=True)


@templates.command(cls=OptionsFirst)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@_output_option("The file for the relations with their templates.")
@cloup.option("--force", is_flag=True, help="Overwrite the file where it exists.")
@cloup.option(
    "--mined",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file of patterns that were mined from a corpus; repeatable. They become mined_clozes.",
)
@json_option
@debug_option
def convert(files: tuple[Path, ...], output: Path, force: bool, mined: tuple[Path, ...], as_json: bool) -> None:
    """Turn FILES of public patterns into one file of relations with templates.

    FILES are BEAR's (its folder, or metadata_relations.json in it), LAMA's (a line has `relation` and `template`),
    ParaRel's (a line has `pattern`; the file is named after its relation), or tables of relations with
    `bear_templates` and `pararel_patterns`. Patterns that end in [Y] become
    clozes, others statements; lines and patterns that cannot be used are reported and left out. Files of
    --mined are such as LPAQ's (a line has `template`, and maybe `weight`; or `relation` and `templates` with their
    weights); what ends in [Y] becomes a mined cloze, which probes ask with --clozes mined. Loading a file replaces
    the templates of its relations, so both go into one.

    \b
    kgprobe templates convert BEAR -o templates.jsonl
    kgprobe templates convert relations.jsonl P19.jsonl -o templates.jsonl
    kgprobe templates convert P19.jsonl --mined mine/P19.jsonl -o templates.jsonl
    kgprobe templates check templates.jsonl
    kgprobe load table --relations templates.jsonl
    """  # noqa: D301
    from kgprobe.api.templates import convert_patterns

    result = convert_patterns(files, output, force=force, mined=mined)
    show_notes(result)
    click.echo(json.dumps(result.to_dict()) if as_json else result.summary())
