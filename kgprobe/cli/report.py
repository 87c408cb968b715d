"""``kgprobe report``: what stored results say, on a page that needs nothing beside it."""

from contextlib import nullcontext
from pathlib import Path

import click
import cloup
import msgspec

from kgprobe.cli.found import open_in_browser
from kgprobe.cli.groups import DefaultGroup
from kgprobe.cli.options import (
    as_of_or,
    ask_password,
    debug_option,
    graph_option,
    in_flags,
    json_option,
    relations_option,
    seed_option,
)
from kgprobe.progress import waiting
from kgprobe.sanitize import visible


@click.group(cls=DefaultGroup, default="page")
def report() -> None:
    """What stored results say: on one page, or as a picture.

    `kgprobe report RESULT...` is `kgprobe report page RESULT...`. No model is asked.

    \b
    kgprobe report --open
    kgprobe report gpt2-capitals llama-capitals --out models.html
    kgprobe report graph France --open
    """  # noqa: D301


@report.command()
@cloup.argument("results", nargs=-1, metavar="[RESULT...]")
@cloup.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The page's file.")
@cloup.option("--open", "in_browser", is_flag=True, help="Show it in the web browser.")
@seed_option
@graph_option
@json_option
@debug_option
def page(
    results: tuple[str, ...], out: Path | None, in_browser: bool, seed: int, graph: str | None, as_json: bool
) -> None:
    """Write one page of results: what is unknown, how much is known, and every asked fact.

    RESULT is a run, a measurement or a judged graph, by its name or its folder; without one it is what was asked last
    of the graph. Several are set side by side on the facts that they share: models, ways of asking, directions.

    The page is one file that loads nothing: headline figures with intervals, tables by relation, entity, type,
    popularity and year, errors with examples, outdated answers, facts that several models deny, a picture of the graph
    around what is unknown, and every asked fact to search, with its prompt and what stood beside the answer. With
    --json all of its figures are printed as rows.

    \b
    kgprobe report --open
    kgprobe report gpt2-capitals llama-capitals --out models.html
    """  # noqa: D301
    from kgprobe.api.reports import judged_folder, latest_result, make_report, open_any
    from kgprobe.servers.opening import open_graph

    asked = not results or any(judged_folder(name) is None for name in results)
    opening = open_graph(graph, ask_password=ask_password) if asked else nullcontext()
    with opening as connection, waiting("Reading the answers"):
        opened = [open_any(name, connection) for name in results]
        if connection is not None and not results:
            opened = [latest_result(connection)]
        made = make_report(opened, seed=seed)
        written = made.page(out)
    if as_json:
        click.echo(msgspec.json.encode({**made.to_dict(), "page": str(written)}))
    else:
        for line in made.lead:
            click.echo(visible(line))
        click.echo(f"Page: {written.absolute().as_uri()}")
    if in_browser:
        open_in_browser(written.absolute())


@report.command("graph")
@cloup.argument("entity", required=False)
@cloup.option("--run", metavar="NAME", help="Whose beliefs.  [default: the run begun last]")
@cloup.option("--steps", type=click.IntRange(min=1), default=1, show_default=True, help="How far from the entity.")
@relations_option("Draw facts of this relation only, by its id or a name; repeatable.")
@as_of_or(None, "facts of any time")
@cloup.option("--limit", type=click.IntRange(min=1), default=200, show_default=True, help="Facts at most.")
@cloup.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The picture's file.")
@cloup.option("--open", "in_browser", is_flag=True, help="Show it in the web browser.")
@graph_option
@json_option
@debug_option
def graph_picture(
    entity: str | None,
    run: str | None,
    steps: int,
    relations: tuple[str, ...],
    as_of: int | None,
    limit: int,
    out: Path | None,
    in_browser: bool,
    graph: str | None,
    as_json: bool,
) -> None:
    """Draw the facts around an entity, coloured by how probably the model fails on them.

    ENTITY is an id or a name; without one it is the entity at which most facts are surely unknown. Blue is what the
    model knows, orange what it does not, grey what the run never came near; what is sure is drawn wider. The picture
    is one file, by neo4j-viz (the extra `explore`): nodes can be moved, found and clicked. With --json its
    facts are printed as rows.

    \b
    kgprobe report graph --open
    kgprobe report graph France --run base --steps 2 --relation capital
    """  # noqa: D301
    from kgprobe.api.graph_pictures import draw_graph
    from kgprobe.servers.opening import open_graph

    with open_graph(graph, ask_password=ask_password) as connection, waiting("Drawing"):
        drawn = draw_graph(connection, entity, run=run, steps=steps, relations=relations, as_of=as_of, limit=limit)
        written = drawn.page(out)
    if as_json:
        facts = drawn.subgraph.to_frame().to_dict("records")
        told = {"around": drawn.around, "run": drawn.run, "complete": drawn.subgraph.complete, "facts": facts}
        click.echo(msgspec.json.encode({**told, "page": str(written)}))
    else:
        click.echo(in_flags(drawn.summary()))
        click.echo(f"Page: {written.absolute().as_uri()}")
    if in_browser:
        open_in_browser(written.absolute())
