"""``kgprobe report``: what stored results say, on a page that needs nothing beside it."""

from contextlib import nullcontext
from pathlib import Path

import click
import cloup
import msgspec

from kgprobe.cli.found import open_in_browser
from kgprobe.cli.groups import DefaultGroup
from kgprobe.cli.options import ask_password, debug_option, graph_option, json_option, seed_option
from kgprobe.progress import waiting
from kgprobe.texts import visible


@click.group(cls=DefaultGroup, default="page")
def report() -> None:
    """What stored results say: on one page, or as a picture.

    `kgprobe report RESULT...` is `kgprobe report page RESULT...`. No model is asked.

    \b
    kgprobe report --open
    kgprobe report gpt2-capitals llama-capitals --out models.html
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
    from kgprobe.library.reports import judged_folder, latest_result, make_report, open_any
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
        click.echo(msgspec.json.encode({**made.as_json(), "page": str(written)}))
    else:
        for line in made.lead:
            click.echo(visible(line))
        click.echo(f"Page: {written.absolute().as_uri()}")
    if in_browser:
        open_in_browser(written.absolute())
