"""What Neo4j Browser is given: a style sheet, a guide with queries to click, and these as favourites."""

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from kgprobe.graph.queries import Query, explore_names, get_query
from kgprobe.report.page import render_page

STYLE, GUIDE, FAVOURITES = "kgprobe.grass", "guide.html", "kgprobe-queries.zip"

# What is painted, as the style sheet colours it.
_LEGEND = {
    "KNOWN": "surely known (blue)",
    "UNSURE": "asked, and not sure (grey)",
    "UNKNOWN": "surely unknown (orange, thick)",
    "LEARNED": "known, and surely unknown to an earlier run (green)",
    "FORGOT": "surely unknown, and known to an earlier run (purple, thick)",
}
_FIRST = "MATCH path = (:Entity)-[:UNKNOWN|FORGOT]->(:Entity) RETURN path LIMIT 50"
_PARAMETERS = re.compile(r"^For Neo4j Browser: (:params \{.*\})$", re.MULTILINE)
# The lines of a query's comment that say how it is called, which a guide shows otherwise.
_CALLED = re.compile(r"^(For Neo4j Browser|Unless given): .*\n?", re.MULTILINE)
# The same zip each time: files have the first day that one can hold.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class BrowserQuery:
    """A query as a person meets it in Neo4j Browser.

    Attributes:
        name: of its file, ``explore/…``.
        title: what it answers, in a line.
        about: its comment, as prose.
        parameters: a command of Browser that sets its parameters; empty where it has none.
        text: the query, without its comment.
    """

    name: str
    title: str
    about: str
    parameters: str
    text: str


def browser_queries() -> list[BrowserQuery]:
    """The queries of ``explore/`` that are written for Neo4j Browser: first those whose paths it draws.

    >>> [query.name for query in browser_queries() if query.name.endswith("known")]
    ['explore/known', 'explore/unknown']
    """
    made = [_browser_query(query) for query in map(get_query, explore_names()) if _PARAMETERS.search(query.about)]
    return sorted(made, key=lambda query: "path" not in query.text)


def browser_files(base: str) -> dict[str, bytes]:
    """The files by name: ``kgprobe.grass``, ``guide.html``, ``kgprobe-queries.zip``.

    Args:
        base: the address of the folder in which they will lie, with a slash at its end.
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
    scripts = {f"kgprobe/{query.name.partition('/')[2]}.cypher": _favourite(query) for query in queries}
    return {STYLE: style, GUIDE: guide.encode(), FAVOURITES: _zipped(scripts)}


def _browser_query(query: Query) -> BrowserQuery:
    found = _PARAMETERS.search(query.about)
    statement = "\n".join(line for line in query.text.splitlines() if not line.startswith("//"))
    about = " ".join(_CALLED.sub("", query.about).split())
    parameters = found[1] if found else ""
    return BrowserQuery(
        query.name, query.name.partition("/")[2].replace("_", " "), about, parameters, statement.strip()
    )


def _favourite(query: BrowserQuery) -> bytes:
    """A favourite's first line is its title; the second is what to run before it."""
    before = f"// First run {query.parameters}\n" if query.parameters else ""
    return f"// {query.title}\n{before}{query.text}\n".encode()


def _zipped(contents: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _NO_TIME), content)
    return packed.getvalue()
