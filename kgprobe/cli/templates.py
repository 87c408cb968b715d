"""``kgprobe templates``: the sentences and questions that facts are put in."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.options import as_of_option, ask_password, debug_option, graph_option, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.verbalize.check import Checked

relation_option = click.option(
    "--relation", "relations", multiple=True, metavar="ID", help="This relation only; repeatable.  [default: all]"
)


@click.group()
def templates() -> None:
    """Look at, check and write the sentences that facts are put in.

    A relation's templates have [X] for the subject and [Y] for the object; a cloze ends in [Y], and a model is asked
    how probably it would go on with a name. They are loaded with the relations: `kgprobe load table --relations FILE`.
    """


@templates.command("list")
@relation_option
@as_of_option
@graph_option
@json_option
@debug_option
def list_(relations: tuple[str, ...], as_of: int, graph: str | None, as_json: bool) -> None:
    """Show each relation's templates, filled with a fact of the graph."""
    from kgprobe.graph.server import open_graph
    from kgprobe.verbalize.examples import examples_of, relations_of
    from kgprobe.verbalize.filled import filled_templates

    with open_graph(graph, ask_password) as connection:
        rows = [
            {"relation": relation.id, "label": relation.label, **asdict(filled)}
            for relation in relations_of(connection, relations)
            for filled in filled_templates(relation, examples_of(connection, relation.id, as_of), as_of)
        ]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
    elif rows:
        for row in rows:
            row["relation"] = f"{row['label']} ({row['relation']})" if row["label"] else row["relation"]
            row["sentence"] = row["sentence"] or row["template"]
        _print_table(("relation", "kind", "sentence"), rows)
    else:
        click.echo("No relation has a template; `kgprobe templates write` writes some.", err=True)


@templates.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@relation_option
@graph_option
@json_option
@debug_option
@click.pass_context
def check(ctx: click.Context, file: Path | None, relations: tuple[str, ...], graph: str | None, as_json: bool) -> None:
    """Check the templates of the graph, or of FILE before it is loaded.

    FILE has relations as `kgprobe load table --relations` reads them. Errors make a template unusable or ask
    something wrong; warnings are for a person to judge. Exits with 1 where there are errors.
    """
    from kgprobe.graph.server import open_graph
    from kgprobe.report.progress import progress_bar
    from kgprobe.verbalize.check import check_file, check_graph

    if file is not None:
        checked = check_file(file, relations)
    else:
        with open_graph(graph, ask_password) as connection, progress_bar("Checking", 1, "relations") as bar:
            checked = check_graph(connection, relations, lambda done, total: bar.advance_to(done / total, 1))
    errors = sum(flaw.severity == "error" for flaw in checked.flaws)
    if as_json:
        click.echo(json.dumps(asdict(checked) | {"errors": errors}, ensure_ascii=False))
    else:
        _show_check(checked, errors)
    if errors:
        ctx.exit(1)


def _show_check(checked: "Checked", errors: int) -> None:
    columns = ("severity", "relation", "kind", "template", "problem")
    if checked.flaws:
        _print_table(columns, [{column: getattr(flaw, column) for column in columns} for flaw in checked.flaws])
    click.echo(
        f"{_count(checked.templates, 'template')} of {_count(checked.relations, 'relation')}:"
        f" {_count(errors, 'error')}, {_count(len(checked.flaws) - errors, 'warning')}."
    )
    if checked.without_clozes:
        some = ", ".join(checked.without_clozes[:5]) + (", …" if len(checked.without_clozes) > 5 else "")
        click.echo(
            f"Without a cloze: {_count(len(checked.without_clozes), 'relation')} ({some}); `kgprobe templates write`"
            " writes some."
        )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _print_table(columns: "Sequence[str]", rows: "Sequence[dict[str, Any]]") -> None:
    from rich.console import Console

    from kgprobe.report.rows import table

    Console().print(table(columns, rows, len(rows))[0])
