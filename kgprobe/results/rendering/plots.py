"""Plots of lines, categories and heat maps, and pages of plots and tables (plotly)."""

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgprobe.base.files import make_folder, replacing
from kgprobe.base.sanitize import visible
from kgprobe.base.tables import Table
from kgprobe.results.rendering.dotted_map import DottedMap
from kgprobe.results.rendering.page import Section, settings_section, table_section, write_page

# Each has a contrast of at least three to one on light and on dark pages.
COLOURS = ("#3f7fd9", "#d4762c", "#1f9d8f", "#d9534f", "#9b6dd6", "#8a8a2a", "#d0559b", "#a9745b")
# Coinciding curves stay visible: broad and solid below, narrow and dashed above.
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star")
_WIDTHS = (4.0, 3.0, 2.5, 2.0, 1.5)
# Approximate number of marks on a curve.
_MARKS = 8
_ROW_PIXELS = 34
_RISING = ((0.0, "rgba(63,127,217,0)"), (1.0, "rgba(63,127,217,0.75)"))
_DIVERGING = ((0.0, "rgba(212,118,44,0.75)"), (0.5, "rgba(128,128,128,0)"), (1.0, "rgba(63,127,217,0.75)"))
# Maximum number of columns of a heat map with numbers in its cells.
_NUMBERED = 16
# All plots have a transparent background; the page's style sheet sets the other colours.
_LAYOUT: dict[str, Any] = {
    "template": "none",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, sans-serif", "size": 13},
    "margin": {"l": 60, "r": 20, "t": 30, "b": 50},
    "modebar": {"bgcolor": "rgba(0,0,0,0)"},
}
_HEAT_LAYOUT: dict[str, Any] = {
    "xaxis": {"type": "category", "side": "top", "automargin": True, "showgrid": False},
    "yaxis": {"type": "category", "autorange": "reversed", "automargin": True, "showgrid": False},
}


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a plot.

    Attributes:
        x, y: coordinates of each point.
        low, high: bounds of its band, or of whiskers at points; empty where there are none.
        points: draw points instead of a line.
        labels: names of the points; empty for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    points: bool = False
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over one axis.

    Attributes:
        x_title, y_title: titles of the axes, with units.
        log_x: use a logarithmic x axis.
        y_range: bounds of the y axis; None fits the curves.
    """

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    log_x: bool = False
    y_range: tuple[float, float] | None = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Category:
    """A category with its value, for example a measure.

    Attributes:
        value: None where it has none.
        low, high: bounds of its whiskers; None where it has none.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CategoryPlot:
    """Values of categories, one below the other, the first on top.

    Attributes:
        value_title: title of the value axis, with the meaning of whiskers.
        value_range: bounds of that axis.
    """

    title: str
    value_title: str
    categories: Sequence[Category]
    value_range: tuple[float, float]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Numbers in rows and columns, each as a colour.

    Attributes:
        rows, columns: distinct names; the first row on top.
        values: one list per row; None for a missing number.
        value_title: title of the numbers.
        value_range: the numbers with the palest and the strongest colour; a negative minimum gives a diverging scale.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    value_title: str
    value_range: tuple[float, float] = (0.0, 1.0)


def write_plots_page(
    path: Path,
    title: str,
    verdict: str,
    plots: Sequence[Plot | CategoryPlot | HeatMap | DottedMap],
    tables: Sequence[Table],
    notes: Sequence[str],
    config: Mapping[str, Any],
    *,
    alone: bool = False,
) -> Path:
    """Write a page of plots and tables, creating its folder, and return its path.

    For plots, plotly's script (5 MB) is written to the parent folder, where the pages of all results share it; for a
    page ``alone``, to the page's folder. Names and notes are escaped.

    Args:
        config: settings that affect the numbers; JSON-compatible.
        alone: True for a page at a path of the user's choice, not in a result's folder.

    Raises:
        KgprobeError: the page cannot be written.
    """
    make_folder(path.parent)
    plotly = None
    if not all(isinstance(plot, DottedMap) for plot in plots):
        script = _shared_script(path.parent if alone else path.parent.parent)
        plotly = script if alone else f"../{script}"
    sections = []
    for place, plot in enumerate(plots):
        if isinstance(plot, DottedMap):
            sections.append(Section("dots", "Relations at entities", {"map": plot}))
        else:
            sections.append(Section("plot", plot.title, {"plot": _drawn(plot, place)}))
    sections += map(table_section, tables)
    if notes:
        sections.append(Section("text", "Notes", {"paragraphs": notes}))
    sections.append(settings_section(config, ""))
    return write_page(path, title, [verdict], sections, plotly=plotly)


def _shared_script(folder: Path) -> str:
    """Return the name of plotly's script, with its version, after writing it to this folder if it is missing."""
    import plotly.offline

    script = folder / f"plotly-{plotly.offline.get_plotlyjs_version()}.min.js"
    if not script.exists():
        # Other processes may write it at the same time: each writes its own file, and the last one stays.
        own = script.with_name(f"{script.name}.{os.getpid()}")
        with replacing(own) as unfinished:
            unfinished.write_text(plotly.offline.get_plotlyjs(), encoding="utf-8")
        with replacing(script) as unfinished:
            os.replace(own, unfinished)
    return script.name


def _drawn(plot: Plot | CategoryPlot | HeatMap, place: int) -> str:
    """Return the HTML of a plot, without plotly's script."""
    import plotly.graph_objects as go

    height = 480
    if isinstance(plot, CategoryPlot):
        traces, layout = [_category_trace(plot)], _category_layout(plot)
        height = 110 + _ROW_PIXELS * len(plot.categories)
    elif isinstance(plot, HeatMap):
        traces, layout = [_heat_trace(plot)], _HEAT_LAYOUT
        height = 140 + _ROW_PIXELS * len(plot.rows)
    else:
        traces, layout = [], _line_layout(plot)
        for number, line in enumerate(plot.lines):
            traces += [_points(line, number)] if line.points else _curve(line, number)
    drawn: str = go.Figure(traces, layout=_LAYOUT | layout).to_html(
        include_plotlyjs=False,
        full_html=False,
        div_id=f"plot-{place}",
        default_height=f"{height}px",
        config={"displaylogo": False, "responsive": True},
    )
    return drawn


def _line_layout(plot: Plot) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": _escaped(plot.x_title)}, "type": "log" if plot.log_x else "linear"},
        "yaxis": {"title": {"text": _escaped(plot.y_title)}, "range": plot.y_range},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "showlegend": len(plot.lines) > 1,
    }


def _category_layout(plot: CategoryPlot) -> dict[str, Any]:
    names = [_escaped(category.name) for category in plot.categories]
    return {
        "xaxis": {"title": {"text": _escaped(plot.value_title)}, "range": plot.value_range, "zeroline": True},
        # The first category is on top, as in the table; categories without a value keep their place.
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "range": [-0.5, len(names) - 0.5],
            "automargin": True,
        },
        "showlegend": False,
    }


def _category_trace(plot: CategoryPlot) -> dict[str, Any]:
    valued = [category for category in plot.categories if category.value is not None]
    return {
        "type": "scatter",
        "x": [category.value for category in valued],
        "y": [_escaped(category.name) for category in valued],
        "mode": "markers",
        "marker": {"color": COLOURS[0], "size": 10},
        "error_x": _whiskers([(category.value, category.low, category.high) for category in valued], COLOURS[0]),
    }


def _heat_trace(plot: HeatMap) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": list(map(_escaped, plot.columns)),
        "y": list(map(_escaped, plot.rows)),
        "z": plot.values,
        "zmin": plot.value_range[0],
        "zmax": plot.value_range[1],
        # Numbers have the page's text colour, so that cells must be pale on light and on dark pages.
        "colorscale": _DIVERGING if plot.value_range[0] < 0 else _RISING,
        "texttemplate": "%{z:.2f}" if len(plot.columns) <= _NUMBERED else None,
        "hovertemplate": "%{y}, %{x}: %{z:.3f}<extra></extra>",
        "hoverongaps": False,
        "colorbar": {"title": {"text": _escaped(plot.value_title)}, "outlinewidth": 0},
    }


def _whiskers(ends: Iterable[tuple[Any, Any, Any]], colour: str) -> dict[str, Any]:
    """Return whiskers from values, lower and upper bounds; a missing bound gives none."""
    above, below = [], []
    for value, low, high in ends:
        above.append(0 if high is None else high - value)
        below.append(0 if low is None else value - low)
    reach = {"array": above, "arrayminus": below}
    return {"type": "data", "symmetric": False, **reach, "color": colour, "thickness": 1.5, "width": 4}


def _points(line: Line, number: int) -> dict[str, Any]:
    """Return points with whiskers and names."""
    colour = COLOURS[number % len(COLOURS)]
    return {
        "type": "scatter",
        "x": list(line.x),
        "y": list(line.y),
        "name": _escaped(line.name),
        "mode": "markers+text" if line.labels else "markers",
        "text": list(map(_escaped, line.labels)) or None,
        # The last point is at the right edge. Names on the whiskers would be crossed out.
        "textposition": [*["middle right"] * (len(line.x) - 1), "middle left"],
        "cliponaxis": False,
        "marker": {"color": colour, "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 9},
        "error_y": _whiskers(zip(line.y, line.low, line.high, strict=True), colour) if len(line.low) else None,
    }


def _curve(line: Line, number: int) -> list[dict[str, Any]]:
    """Return a line with marks, and its band behind it."""
    colour, name = COLOURS[number % len(COLOURS)], _escaped(line.name)
    curve = {
        "type": "scatter",
        "x": list(line.x),
        "y": list(line.y),
        "name": name,
        "legendgroup": name,
        "mode": "lines+markers",
        "cliponaxis": False,
        "line": {
            "color": colour,
            "dash": _DASHES[number % len(_DASHES)],
            "width": _WIDTHS[min(number, len(_WIDTHS) - 1)],
        },
        "marker": {"color": colour, "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 8, "maxdisplayed": _MARKS},
    }
    if not len(line.low):
        return [curve]
    # Along the upper bound and back along the lower one.
    band = {
        "type": "scatter",
        "x": [*line.x, *reversed(line.x)],
        "y": [*line.high, *reversed(line.low)],
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.12,
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": name,
    }
    return [band, curve]


def _escaped(text: str) -> str:
    """Return a title or a name, which plotly parses as HTML."""
    return html.escape(visible(text), quote=False)
