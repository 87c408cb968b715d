"""``kgprobe view``: an index of all results on this machine."""

import click
import cloup

from kgprobe.cli.options import debug_option, json_option
from kgprobe.cli.rendering import open_in_browser, render_rows


@cloup.command()
@cloup.option("--open", "in_browser", is_flag=True, help="Open it in the web browser.")
@json_option
@debug_option
def view(in_browser: bool, as_json: bool) -> None:
    """List all results on this machine, and write a page with links to their pages.

    Runs, measurements, comparisons, studies, judges, judged graphs and reports, newest first. The page is a file that
    can be searched without a server.

    \b
    kgprobe view --open
    """  # noqa: D301
    from kgprobe.api.kept_results import kept_results

    kept = kept_results()
    page = kept.page()
    render_rows(kept, as_json)
    if not as_json:
        if not kept.results:
            click.echo(kept.summary())
        click.echo(f"Page: {page.as_uri()}")
    if in_browser:
        open_in_browser(page)
