"""A study as a page that loads nothing from elsewhere: the plots, the table, and what is to be said of them."""

from dataclasses import dataclass
from typing import Any

import msgspec

from kgprobe.report.page import render_page
from kgprobe.report.rows import cell, visible
from kgprobe.studies.study import Line, Plot, Study

_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a study's table, and whether it holds numbers alone."""

    name: str
    numeric: bool


def table_columns(study: Study) -> list[Column]:
    """The columns of a study's table, in the order in which its rows name them."""
    names = dict.fromkeys(name for row in study.table for name in row)
    return [
        Column(name, all(isinstance(row.get(name), (int, float, type(None))) for row in study.table)) for name in names
    ]


def shown(value: Any) -> str:
    """A value of a study's table for people."""
    return f"{value:.3f}" if isinstance(value, float) else cell(value)


def study_page(study: Study) -> str:
    """The page. Whatever names and notes hold shows as text."""
    config = msgspec.json.format(msgspec.json.encode(study.config), indent=2).decode()
    return render_page(
        "study.html",
        {"shown": shown},
        study=study,
        columns=table_columns(study),
        plots=[(plot.title, _drawn(plot, place)) for place, plot in enumerate(study.plots)],
        config=config,
    )


def _drawn(plot: Plot, place: int) -> str:
    """A plot with the script that draws it; the first one brings what all of them need."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, line in enumerate(plot.lines):
        for trace in _traces(line, _COLOURS[number % len(_COLOURS)]):
            figure.add_trace(trace)
    figure.update_layout(**_layout(plot))
    drawn: str = figure.to_html(
        include_plotlyjs=place == 0, full_html=False, div_id=f"plot-{place}", default_height="30rem"
    )
    return drawn


def _layout(plot: Plot) -> dict[str, Any]:
    return {
        "template": "plotly_white",
        "xaxis": {"title": {"text": _escaped(plot.x_title)}, "type": "log" if plot.log_x else "linear"},
        "yaxis": {"title": {"text": _escaped(plot.y_title)}, "range": plot.y_range},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
    }


def _traces(line: Line, colour: str) -> list[Any]:
    import plotly.graph_objects as go

    name = _escaped(line.name)
    traces = [
        go.Scatter(
            x=list(line.x),
            y=list(line.y),
            name=name,
            legendgroup=name,
            mode="markers" if line.points else "lines",
            line={"color": colour},
            marker={"color": colour},
        )
    ]
    if len(line.low):
        # Behind the curve: along the upper bound and back along the lower one.
        band = go.Scatter(
            x=[*line.x, *reversed(line.x)],
            y=[*line.high, *reversed(line.low)],
            fill="toself",
            fillcolor=colour,
            opacity=0.15,
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            legendgroup=name,
        )
        traces.insert(0, band)
    return traces


def _escaped(text: str) -> str:
    # Titles and names are taken for HTML.
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
