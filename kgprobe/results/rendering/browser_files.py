"""Files for Neo4j Browser: style sheets, a guide with queries to click, and more queries as favourites."""

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle

from kgprobe.beliefs.painting import PAINTS
from kgprobe.graph.queries import Query, explore_names, get_query, query_names
from kgprobe.results.rendering.page import render_page

STYLE, PAINTED_STYLE, GUIDE, FAVOURITES = "kgprobe.grass", "kgprobe-painted.grass", "guide.html", "kgprobe-queries.zip"

# Meanings of the painted types; the style sheet has their colours.
_LEGEND = {
    "KNOWN": "surely known",
    "LEANS_KNOWN": "asked, and rather known",
    "LEANS_UNKNOWN": "asked, and rather unknown",
    "UNKNOWN": "surely unknown",
    "EXPECTED": "not asked: the run expects that the model fails",
    "LEARNED": "surely known, and surely unknown to an earlier run",
    "FORGOT": "surely unknown, and surely known to an earlier run",
}
# The style of facts while beliefs are painted parallel to them: the painted relationship has caption and width.
_PLAIN_FACTS = """
relationship.FACT {
  color: #d3d8de;
  shaft-width: 1px;
  caption: "";
}
"""
# Colours of entities by their painted label, from the palette of Okabe and Ito, darkened for white captions.
_SHARES = {"MostlyKnown": "#0b4f77", "HalfKnown": "#6a4c85", "MostlyUnknown": "#a34700"}
# Colours of entities by their type in the order of size: light ones, so that none looks like a belief.
_TYPES = ("#f0cca8", "#ccccfc", "#9cb46c", "#c0fcfc", "#fca8e4", "#f09090", "#90fccc", "#fcfca8", "#00c0b4", "#00d8fc")
_LIGHT, _DARK = "#ffffff", "#2a3340"
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


def browser_files(base: str, labels: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the files by name: two style sheets, ``guide.html``, ``kgprobe-queries.zip``.

    Args:
        base: address of their folder, with a trailing slash.
        labels: labels of types (:func:`kgprobe.graph.types.labels_of_types`), which get a colour each.
    """
    style = files("kgprobe.results.rendering").joinpath("pages").joinpath(STYLE).read_text(encoding="utf-8")
    colours = dict(re.findall(r"relationship\.(\w+) \{\s*color: (#\w+)", style))
    legend = [(type_, PAINTS[type_], says, colours[type_]) for type_, says in _LEGEND.items()]
    guide = render_page(
        "browser_guide.html",
        legend=legend,
        queries={name: _browser_query(get_query(name)) for name in query_names() if name.startswith("guide/")},
        style=base + STYLE,
        painted_style=base + PAINTED_STYLE,
        archive=base + FAVOURITES,
    )
    # Later rules have precedence: the share of known facts is more than a type.
    style += "".join(_node_style(label, colour, _DARK) for label, colour in zip(labels, cycle(_TYPES), strict=False))
    style += "".join(_node_style(label, colour, _LIGHT) for label, colour in _SHARES.items())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for query in browser_queries():
            # The first line of a favourite is its title, the second the command to run before it.
            before = f"// First run {query.parameters}\n" if query.parameters else ""
            file = zipfile.ZipInfo(f"kgprobe/{query.name.partition('/')[2]}.cypher", _NO_TIME)
            archive.writestr(file, f"// {query.title}\n{before}{query.text}\n")
    return {
        STYLE: style.encode(),
        PAINTED_STYLE: (style + _PLAIN_FACTS).encode(),
        GUIDE: guide.encode(),
        FAVOURITES: packed.getvalue(),
    }


def _node_style(label: str, colour: str, caption: str) -> str:
    return f"\nnode.{label} {{\n  color: {colour};\n  border-color: #222b36;\n  text-color-internal: {caption};\n}}\n"


def _browser_query(query: Query) -> BrowserQuery:
    match = _PARAMETERS.search(query.about)
    statement = "\n".join(line for line in query.text.splitlines() if not line.startswith("//"))
    about = " ".join(_CALLED.sub("", query.about).split())
    title = query.name.partition("/")[2].replace("_", " ")
    return BrowserQuery(query.name, title, about, match[1] if match else "", statement.strip())
