"""``kgprobe report``: a page of stored results, in one file."""

from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup
import msgspec

import kgprobe
from kgprobe.base.progress import waiting
from kgprobe.base.sanitize import visible
from kgprobe.cli.groups import DefaultGroup
from kgprobe.cli.options import (
    as_of_or,
    count_option,
    graph_of,
    graph_of_results,
    graph_options,
    in_flags,
    is_graph_given,
    open_graph,
    output_option,
    refuse_existing,
    relations_option,
    seed_option,
)
from kgprobe.cli.rendering import open_in_browser, render
from kgprobe.results.kind_names import MEASUREMENT, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgprobe.results.answers import Stored

_open_option = cloup.option("--open", "in_browser", is_flag=True, help="Open it in the web browser.")
_SHEET = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(cls=DefaultGroup, default="page")
def report() -> None:
    """Show stored results on one page, or as a picture.

    `kgprobe report RESULT...` is `kgprobe report page RESULT...`. No model is asked.

    \b
    kgprobe report --open
    kgprobe report gpt2-capitals llama-capitals --output models.html
    kgprobe report graph France --open
    """  # noqa: D301


@report.command()
@cloup.argument("results", nargs=-1, metavar="[RESULT...]")
@output_option("File of the page.")
@_open_option
@seed_option
@graph_options
def page(
    results: tuple[str, ...], output: Path | None, in_browser: bool, seed: int, graph: str | None, as_json: bool
) -> None:
    """Write one page of results: the share known, unknown facts, and every asked fact.

    RESULT is a run, a measurement or a judged graph, by name or folder; default: the latest of the graph. Several
    results (models, probes, directions) are compared on the facts that they share.

    The page is one file without external resources: a bar of the whole graph, the least known relations, a map of the
    graph by type, tables by relation, entity, type, popularity and year, errors with examples, outdated answers, facts
    that several models deny, and a searchable list of asked facts with prompts and distractors. Several results share a
    matrix of facts and models. --json prints all figures as rows.

    \b
    kgprobe report --open
    kgprobe report gpt2-capitals llama-capitals --output models.html
    """  # noqa: D301
    from kgprobe.api.reports import REPORTED
    from kgprobe.results.shelf import find, latest_result, needs_graph, own_graph

    entries = [find(name, REPORTED) for name in results]
    needed = not results or any(needs_graph(each) and (is_graph_given() or not own_graph(each)) for each in entries)
    with ExitStack() as stack, waiting("Reading the answers"):
        connection = stack.enter_context(open_graph(graph)) if needed else None
        graphs = [stack.enter_context(graph_of(entry, connection)) for entry in entries]
        opened = [entry.open(graph) for entry, graph in zip(entries, graphs, strict=True)]
        if connection is not None and not results:
            opened = [latest_result(connection)]
        result = kgprobe.make_report(opened, seed=seed)
        written = result.page(output)
    _show(result.to_dict(), "\n".join(map(visible, result.lead)), written, in_browser, as_json)


@report.command()
@cloup.argument("results", nargs=-1, required=True, metavar="RESULT...")
@output_option("File of the sheet (CSV).", required=True)
@cloup.option("--force", is_flag=True, help="Overwrite an existing file.")
@count_option("--per-kind", default=50, help="Maximum number of questions of each kind and result.")
@seed_option
@graph_options
def sheet(
    results: tuple[str, ...], output: Path, force: bool, per_kind: int, seed: int, graph: str | None, as_json: bool
) -> None:
    """Write a sheet of questions and answers for people to assess.

    RESULT is a measurement or a run of the probe questions. Each annotator fills in a copy of the sheet, yes or no:
    understood (can the question be understood?) and correct (is the answer right, by the right answers in the sheet?;
    in the paper for who, which and what only). `kgprobe report assess` reads the filled sheets.

    \b
    kgprobe report sheet gpt2-films --output sheet.csv
    kgprobe report assess gpt2-films --sheet ann.csv --sheet ben.csv
    """  # noqa: D301
    refuse_existing(output, force, "--output")
    with _opened(results, graph) as opened:
        rows = kgprobe.write_sheet(opened, output, per_kind=per_kind, seed=seed)
    content = {"file": str(output), "questions": rows}
    click.echo(msgspec.json.encode(content) if as_json else f"{rows:,} questions: {output}")


@report.command()
@cloup.argument("results", nargs=-1, required=True, metavar="RESULT...")
@cloup.option(
    "--sheet", "sheets", type=_SHEET, multiple=True, required=True, help="Sheet of one annotator (CSV); repeatable."
)
@graph_options
def assess(results: tuple[str, ...], sheets: tuple[Path, ...], graph: str | None, as_json: bool) -> None:
    """Compare questions and verdicts with the votes of people.

    RESULT is a result of which `kgprobe report sheet` made the sheet. Prints the share of the questions that the
    majority of the annotators understands, of the verdicts that are theirs, and of both.

    \b
    kgprobe report assess gpt2-films --sheet ann.csv --sheet ben.csv
    """  # noqa: D301
    with _opened(results, graph) as opened:
        result = kgprobe.assess_questions(opened, sheets)
    render(result, as_json)


@contextmanager
def _opened(results: tuple[str, ...], graph: str | None) -> "Iterator[list[Stored]]":
    """Open measurements and runs, with the graph if one of them is a run."""
    from kgprobe.results.shelf import find

    with graph_of_results(results, graph, (MEASUREMENT, RUN)) as connection, waiting("Reading the answers"):
        yield [find(name, [MEASUREMENT, RUN], connection).open(connection) for name in results]


@report.command("graph")
@cloup.argument("entity", required=False)
@cloup.option("--run", metavar="NAME", help="Name of the run.  [default: the latest run]")
@count_option("--steps", default=1, help="Maximum distance from the entity, in steps.")
@relations_option("Draw facts of this relation only, by its id or a name; repeatable.")
@as_of_or(None, "facts of any time")
@count_option("--limit", default=200, help="Maximum number of facts.")
@output_option("File of the picture.")
@_open_option
@graph_options
def graph_picture(output: Path | None, in_browser: bool, graph: str | None, as_json: bool, **options: Any) -> None:
    """Draw the facts around an entity, coloured by the probability that the model knows them.

    ENTITY is an id or a name; default: the entity with most surely unknown facts. Known facts are blue, unknown ones
    orange, facts without evidence grey; sure beliefs are wider. The picture is one interactive file, drawn by neo4j-viz
    (the extra `explore`). --json prints its facts as rows.

    \b
    kgprobe report graph --open
    kgprobe report graph France --run base --steps 2 --relation capital
    """  # noqa: D301
    with open_graph(graph) as connection, waiting("Drawing"):
        drawn = kgprobe.draw_graph(connection, **options)
        written = drawn.page(output)
    facts = drawn.subgraph.to_frame().to_dict("records")
    content = {"around": drawn.around, "run": drawn.run, "complete": drawn.subgraph.complete, "facts": facts}
    _show(content, in_flags(drawn.summary()), written, in_browser, as_json)


def _show(content: Mapping[str, Any], summary: str, page: Path, in_browser: bool, as_json: bool) -> None:
    """Print a result, and open its page in the web browser."""
    if as_json:
        click.echo(msgspec.json.encode({**content, "page": str(page)}))
    else:
        click.echo(f"{summary}\nPage: {page.absolute().as_uri()}")
    if in_browser:
        open_in_browser(page.absolute())
