"""Pictures of docs/guides/browser.md: Neo4j Browser in headless Chromium.

The graph is a folder of Neo4j with a running server and painted beliefs.
"""

from pathlib import Path

import click

from kgprobe.graph.servers.folder import folder_of
from kgprobe.graph.servers.server import status_of
from kgprobe.results.rendering.browser_files import PAINTED_STYLE, browser_files
from tests.chromium import WAIT, chromium
from tests.neo4j_browser import connect, run

_WIDTH, _HEIGHT = 1200, 800
_AROUND = "MATCH path = (:Entity {label: $entity})-[painted]-() WHERE painted.run IS NOT NULL RETURN path"


@click.command(context_settings={"max_content_width": 100})
@click.option("--graph", required=True, help="Folder of the graph; its server runs.")
@click.option("--entity", default="France", show_default=True, help="Entity in the middle of the picture.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("docs/browser.png"), show_default=True)
def main(graph: str, entity: str, out: Path) -> None:
    """Draw the painted beliefs around an entity in Neo4j Browser."""
    status = status_of(folder_of(graph))
    style = browser_files("")[PAINTED_STYLE].decode()
    with chromium() as browser:
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        connect(page, str(status.browser), Path(str(status.password_file)))
        page.route("http://localhost/kgprobe.grass", lambda route: route.fulfill(body=style, headers=_ALLOWED))
        run(page, ":style http://localhost/kgprobe.grass")
        run(page, f":params {{entity: {entity!r}}}")
        frame = run(page, _AROUND)
        frame.locator("g.relationship").first.wait_for(timeout=WAIT)
        frame.get_by_title("Fullscreen").first.click()
        # Wait for the layout.
        page.wait_for_timeout(6_000)
        page.screenshot(path=out)
    click.echo(f"Wrote {out}.")


_ALLOWED = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}

if __name__ == "__main__":
    main()
