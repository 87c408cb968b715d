"""Pages of sections, and tables in notebooks, from the templates in the folder ``pages``. All values are escaped."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import msgspec

from kgprobe.base.files import make_folder, replacing
from kgprobe.base.intervals import Percent, Points, Share, percent_text
from kgprobe.base.sanitize import visible
from kgprobe.base.tables import Table
from kgprobe.base.version import __version__
from kgprobe.results.rendering.tables import is_number, numeric_columns, share_columns, shown

# Scripts of a page of results, in order.
RESULT_SCRIPTS = ("unpack.js", "facts.js", "matrix.js", "picture.js", "types.js", "around.js", "begin.js")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page.

    Attributes:
        kind: name of its template in the folder ``pages/parts``.
        title: its heading; empty for none.
        values: values for the template.
        notes: sentences below.
        short: its name in the table of contents; empty for its title.
        of: label of its result; empty if it has several.
        listed: True if it is in the table of contents.
        folded: True to show only its heading until the reader opens it.
    """

    kind: str
    title: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    short: str = ""
    of: str = ""
    listed: bool = True
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """A highlighted number with its description.

    Attributes:
        figure: the formatted number.
        value: the number, with the bounds of its interval if it has one.
    """

    figure: str
    says: str
    value: float
    low: float | None = None
    high: float | None = None


def table_section(table: Table) -> Section:
    """Return a section with a table under its title."""
    return Section("table", table.title, {"table": table}, short=re.split("[:,(]", table.title)[0])


def settings_section(config: Mapping[str, Any], title: str = "How it was made") -> Section:
    """Return a section with settings as JSON."""
    lines = msgspec.json.format(msgspec.json.encode(config), indent=2).decode().splitlines()
    return Section("how", title, {"parts": {"Settings": lines}})


def write_page(
    path: Path,
    title: str,
    lead: Sequence[str],
    sections: Sequence[Section],
    *,
    data: str | None = None,
    script: str | Sequence[str] = (),
    plotly: str | None = None,
) -> Path:
    """Write a page, creating its folder, and return its path. Names and notes are escaped.

    Args:
        data: facts for the list and the map, see :func:`kgprobe.results.rendering.packed_facts.pack_facts`.
        script: names of the page's scripts in the folder ``pages``, in order; they share their top level.
        plotly: address of plotly's script relative to the page; a page without it is self-contained.

    Raises:
        KgprobeError: the page cannot be written.
    """
    policy = None
    code = "\n".join(map(_text, [script] if isinstance(script, str) else script))
    if plotly is None:
        # Only this script runs and nothing is loaded, even if a label contains markup.
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        allowed = f"script-src 'sha256-{digest}'; " if code else ""
        policy = f"default-src 'none'; {allowed}style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    page = render_page(
        "page.html",
        title=title,
        lead=lead,
        sections=sections,
        style=_text("page.css"),
        script=code,
        data=data,
        plotly=plotly,
        policy=policy,
        version=__version__,
    )
    make_folder(path.parent)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return path


def tables_html(summary: str, tables: Sequence[Table]) -> str:
    """Return a summary with tables as HTML, for notebooks; labels are escaped."""
    return render_page("notebook.html", summary=summary, tables=tables)


def render_page(template: str, **values: Any) -> str:
    """Render a template with these values."""
    return _environment().get_template(template).render(**values)


def cut_names(names: Sequence[str], most: int) -> list[str]:
    """Return names of at most so many characters; those that would be cut alike lose their middle, and differ.

    >>> cut_names(["Organisation of States", "Organisation of Cities", "Paris"], 12)
    ['Organi…tates', 'Organi…ities', 'Paris']
    """
    shown_names = list(map(visible, names))
    ends = [name if len(name) <= most else f"{name[: most - 1]}…" for name in shown_names]
    half = (most - 1) // 2
    cut = []
    for name, end in zip(shown_names, ends, strict=True):
        cut.append(end if ends.count(end) == 1 or len(name) <= most else f"{name[: most - 1 - half]}…{name[-half:]}")
    return cut


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kgprobe.results.rendering", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut_names, "visible": visible, "shown": shown, "percent": str, "share": percent_text}
    # Only the first letter of a heading is capitalized, so that names of models stay.
    environment.filters["headed"] = lambda name: name[:1].upper() + name[1:]
    environment.globals.update(
        is_share=lambda value: isinstance(value, Share),
        is_number=is_number,
        is_fraction=lambda value: isinstance(value, (float, Percent)),
        plain=lambda value: value.value if isinstance(value, (Percent, Points)) else value,
        numeric_columns=numeric_columns,
        share_columns=share_columns,
    )
    return environment


@cache
def _text(name: str) -> str:
    return (files("kgprobe.results.rendering") / "pages" / name).read_text(encoding="utf-8")
