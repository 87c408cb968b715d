"""Pages of plots and tables (plotly)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.files import make_folder, replacing
from kgprobe.report.page import write_page
from kgprobe.report.plots import CategoryPlot, HeatMap, Line, Plot
from kgprobe.report.sections import Section, table_section
from kgprobe.sanitize import visible
from kgprobe.tables import Table

# Each stands out, three to one at least, from a light page and from a dark one.
COLOURS = ("#3f7fd9", "#d4762c", "#1f9d8f", "#d9534f", "#9b6dd6", "#8a8a2a", "#d0559b", "#a9745b")


# Curves that lie on each other show through: broad and whole below, narrow and broken above.
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star")


_WIDTHS = (4.0, 3.0, 2.5, 2.0, 1.5)


# Marks along a curve, about.
_MARKS = 8


_ROW_PIXELS = 34


_RISING = ((0.0, "rgba(63,127,217,0)"), (1.0, "rgba(63,127,217,0.75)"))


_DIVERGING = ((0.0, "rgba(212,118,44,0.75)"), (0.5, "rgba(128,128,128,0)"), (1.0, "rgba(63,127,217,0.75)"))


# Columns of a heat map whose cells have room for a number.
_NUMBERED = 16


def write_plots_page(
    path: Path,
    title: str,
    verdict: str,
    plots: Sequence[Plot | CategoryPlot | HeatMap],
    tables: Sequence[Table],
    notes: Sequence[str],
    config: Mapping[str, Any],
    *,
    alone: bool = False,
) -> Path:
    """Write a page of plots and tables into a folder, which is made, and give its path.

    The script, 5 MB, goes into the folder above, if it is not there yet, and all pages beside this one share it; that
    of a page alone goes beside the page. Whatever names and notes hold shows as text.

    Args:
        path: of the page.
        title, verdict, plots, tables, notes: what it shows, in this order.
        config: what all of it depends on, as JSON has it.
        alone: whether it is a page where a user wants one, not in a folder of its own.

    Raises:
        KgprobeError: it cannot be written.
    """
    make_folder(path.parent)
    script = _shared_script(path.parent if alone else path.parent.parent)
    sections = [
        *(Section("plot", plot.title, {"plot": _drawn(plot, place)}) for place, plot in enumerate(plots)),
        *(table_section(table) for table in tables),
        *(Section("text", "Notes", {"paragraphs": notes}) for _ in range(bool(notes))),
        Section("how", values={"parts": {"What the numbers depend on": config_lines(config)}}),
    ]
    return write_page(path, title, [verdict], sections, plotly=script if alone else f"../{script}")


def config_lines(config: Mapping[str, Any]) -> list[str]:
    """A configuration as JSON, line by line."""
    return msgspec.json.format(msgspec.json.encode(config), indent=2).decode().splitlines()


def _shared_script(folder: Path) -> str:
    """The script's name, which is its version's; it is in this folder from then on."""
    import plotly.offline

    script = folder / f"plotly-{plotly.offline.get_plotlyjs_version()}.min.js"
    if not script.exists():
        # Other processes may be at it, too: each writes a file of its own, and the last one stays.
        own = script.with_name(f"{script.name}.{os.getpid()}")
        with replacing(own) as unfinished:
            unfinished.write_text(plotly.offline.get_plotlyjs(), encoding="utf-8")
        with replacing(script) as unfinished:
            os.replace(own, unfinished)
    return script.name


def _drawn(plot: Plot | CategoryPlot | HeatMap, place: int) -> str:
    """A plot without the script that draws it."""
    import plotly.graph_objects as go

    height = 480
    if isinstance(plot, CategoryPlot):
        figure = go.Figure(_category_trace(plot), layout=_category_layout(plot))
        height = 110 + _ROW_PIXELS * len(plot.categories)
    elif isinstance(plot, HeatMap):
        figure = go.Figure(_heat_trace(plot), layout=_heat_layout())
        height = 140 + _ROW_PIXELS * len(plot.rows)
    else:
        figure = go.Figure(layout=_layout(plot))
        for number, line in enumerate(plot.lines):
            figure.add_traces(_points(line, number) if line.points else _curve(line, number))
    drawn: str = figure.to_html(
        include_plotlyjs=False,
        full_html=False,
        div_id=f"plot-{place}",
        default_height=f"{height}px",
        config={"displaylogo": False, "responsive": True},
    )
    return drawn


def _common_layout() -> dict[str, Any]:
    """Nothing of its own behind the figure: the page's colours are laid over the rest by its style sheet."""
    return {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "margin": {"l": 60, "r": 20, "t": 30, "b": 50},
        "modebar": {"bgcolor": "rgba(0,0,0,0)"},
    }


def _layout(plot: Plot) -> dict[str, Any]:
    return {
        **_common_layout(),
        "xaxis": {"title": {"text": _escaped(plot.x_title)}, "type": "log" if plot.log_x else "linear"},
        "yaxis": {"title": {"text": _escaped(plot.y_title)}, "range": plot.y_range},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "showlegend": len(plot.lines) > 1,
    }


def _category_layout(plot: CategoryPlot) -> dict[str, Any]:
    names = [_escaped(category.name) for category in plot.categories]
    return {
        **_common_layout(),
        "xaxis": {"title": {"text": _escaped(plot.value_title)}, "range": plot.value_range, "zeroline": True},
        # The first on top, as in the table; those without a value keep their place.
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "range": [-0.5, len(names) - 0.5],
            "automargin": True,
        },
        "showlegend": False,
    }


def _category_trace(plot: CategoryPlot) -> Any:
    import plotly.graph_objects as go

    valued = [one for one in plot.categories if one.value is not None]
    return go.Scatter(
        x=[one.value for one in valued],
        y=[_escaped(one.name) for one in valued],
        mode="markers",
        marker={"color": COLOURS[0], "size": 10},
        error_x=_whiskers(
            [one.value for one in valued], [one.low for one in valued], [one.high for one in valued], COLOURS[0]
        ),
    )


def _heat_layout() -> dict[str, Any]:
    return {
        **_common_layout(),
        "xaxis": {"type": "category", "side": "top", "automargin": True, "showgrid": False},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True, "showgrid": False},
    }


def _heat_trace(plot: HeatMap) -> Any:
    import plotly.graph_objects as go

    return go.Heatmap(
        x=[_escaped(name) for name in plot.columns],
        y=[_escaped(name) for name in plot.rows],
        z=plot.values,
        zmin=plot.value_range[0],
        zmax=plot.value_range[1],
        # What stands in a cell is the page's ink: the colour behind it stays pale, on light pages and on dark ones.
        colorscale=_DIVERGING if plot.value_range[0] < 0 else _RISING,
        texttemplate="%{z:.2f}" if len(plot.columns) <= _NUMBERED else None,
        hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
        hoverongaps=False,
        colorbar={"title": {"text": _escaped(plot.value_title)}, "outlinewidth": 0},
    )


def _whiskers(values: Sequence[Any], lows: Sequence[Any], highs: Sequence[Any], colour: str) -> dict[str, Any]:
    """From each value to its ends; none where it has none."""
    ends = list(zip(values, lows, highs, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if high is None else high - value for value, _, high in ends],
        "arrayminus": [0 if low is None else value - low for value, low, _ in ends],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _points(line: Line, number: int) -> list[Any]:
    """Marks with whiskers, and their names beside them."""
    import plotly.graph_objects as go

    colour = COLOURS[number % len(COLOURS)]
    return [
        go.Scatter(
            x=list(line.x),
            y=list(line.y),
            name=_escaped(line.name),
            mode="markers+text" if line.labels else "markers",
            text=[_escaped(label) for label in line.labels] or None,
            # The last stands at the right edge; on their whiskers they would be crossed out.
            textposition=[*["middle right"] * (len(line.x) - 1), "middle left"],
            cliponaxis=False,
            marker={"color": colour, "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 9},
            error_y=_whiskers(line.y, line.low, line.high, colour) if len(line.low) else None,
        )
    ]


def _curve(line: Line, number: int) -> list[Any]:
    """A line with marks, and its band behind it."""
    import plotly.graph_objects as go

    colour, name = COLOURS[number % len(COLOURS)], _escaped(line.name)
    curve = go.Scatter(
        x=list(line.x),
        y=list(line.y),
        name=name,
        legendgroup=name,
        mode="lines+markers",
        cliponaxis=False,
        line={
            "color": colour,
            "dash": _DASHES[number % len(_DASHES)],
            "width": _WIDTHS[min(number, len(_WIDTHS) - 1)],
        },
        marker={
            "color": colour,
            "symbol": _SYMBOLS[number % len(_SYMBOLS)],
            "size": 8,
            "maxdisplayed": _MARKS,
        },
    )
    if not len(line.low):
        return [curve]
    # Along the upper bound and back along the lower one.
    band = go.Scatter(
        x=[*line.x, *reversed(line.x)],
        y=[*line.high, *reversed(line.low)],
        fill="toself",
        fillcolor=colour,
        opacity=0.12,
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
    )
    return [band, curve]


def _escaped(text: str) -> str:
    # Titles and names are taken for HTML.
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
