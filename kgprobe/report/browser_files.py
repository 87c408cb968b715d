"""Files for Neo4j Browser: a style sheet, a guide with queries to click, and the queries as favourites."""

import io
import re
import zipfile
from dataclasses import dataclass
from importlib.resources import files

from kgprobe.graph.queries import Query, explore_names, get_query
from kgprobe.report.page import render_page

STYLE, GUIDE, FAVOURITES = "kgprobe.grass", "guide.html", "kgprobe-queries.zip"

# Painted relationship types with their colours in the style sheet.
_LEGEND = {
    "KNOWN": "surely known (blue)",
    "UNSURE": "asked, and not sure (grey)",
    "UNKNOWN": "surely unknown (orange, thick)",
    "LEARNED": "known, and surely unknown to an earlier run (green)",
    "FORGOT": "surely unknown, and known to an earlier run (purple, thick)",
}
_FIRST = "MATCH path = (:Entity)-[:UNKNOWN|FORGOT]->(:Entity) RETURN path LIMIT 50"
_PARAMETERS = re.compile(r"^For Neo4j Browser: (:params \{.*\})$", re.MULTILINE)
# Lines of a query's comment with its parameters, which the guide shows separately.
_CALLED = re.compile(r"^(For Neo4j Browser|Unless given): .*\n?", re.MULTILINE)
# The first date of the zip format, so that the archive is the same each time.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class BrowserQuery:
    """A query in Neo4j Browser.

    Attributes:
        name: name of its file, ``explore/…``.
        title: a line on its purpose.
        about: its comment, as prose.
        parameters: the Browser command that sets its parameters; empty where it has none.
        text: the query, without its comment.
    """

    name: str
    title: str
    about: str
    parameters: str
    text: str


def browser_queries() -> list[BrowserQuery]:
    """Return the queries of ``explore/`` that are written for Neo4j Browser, those with drawn paths first.

    >>> [query.name for query in browser_queries() if query.name.endswith("known")]
    ['explore/known', 'explore/unknown']
    """
    queries = [_browser_query(query) for query in map(get_query, explore_names()) if _PARAMETERS.search(query.about)]
    return sorted(queries, key=lambda query: "path" not in query.text)


def browser_files(base: str) -> dict[str, bytes]:
    """Return the files by name: ``kgprobe.grass``, ``guide.html``, ``kgprobe-queries.zip``.

    Args:
        base: address of their folder, with a trailing slash.
    """
    queries = browser_queries()
    guide = render_page(
        "browser_guide.html",
        legend=_LEGEND.items(),
        queries=queries,
        style=base + STYLE,
        archive=base + FAVOURITES,
        first=_FIRST,
    )
    style = files("kgprobe.report").joinpath("pages").joinpath(STYLE).read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for query in queries:
            # The first line of a favourite is its title, the second the command to run before it.
            before = f"// First run {query.parameters}\n" if query.parameters else ""
            file = zipfile.ZipInfo(f"kgprobe/{query.name.partition('/')[2]}.cypher", _NO_TIME)
            archive.writestr(file, f"// {query.title}\n{before}{query.text}\n")
    return {STYLE: style, GUIDE: guide.encode(), FAVOURITES: packed.getvalue()}


def _browser_query(query: Query) -> BrowserQuery:
    match = _PARAMETERS.search(query.about)
    statement = "\n".join(line for line in query.text.splitlines() if not line.startswith("//"))
    about = " ".join(_CALLED.sub("", query.about).split())
    title = query.name.partition("/")[2].replace("_", " ")
    return BrowserQuery(query.name, title, about, match[1] if match else "", statement.strip())
