"""A study as a page that loads nothing from elsewhere: the plots, the table, and what is to be said of them."""

from pathlib import Path
from typing import Any

import msgspec

from kgprobe.files import make_folder, replacing
from kgprobe.report.cells import is_number, shown
from kgprobe.report.page import render_page
from kgprobe.studies.study import Line, Plot, Study
from kgprobe.texts import visible

PAGE = "study.html"

_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e")


def write_study_page(study: Study, folder: Path) -> Path:
    """Write the page of a study into a folder, which is made, and give its path.

    Whatever names and notes hold shows as text. Cost: a second, and 5 MB for the script that draws.

    Raises:
        KgprobeError: it cannot be written.
    """
    make_folder(folder)
    path = folder / PAGE
    with replacing(path) as unfinished:
        unfinished.write_text(_rendered(study), encoding="utf-8")
    return path


def _rendered(study: Study) -> str:
    config = msgspec.json.format(msgspec.json.encode(study.config), indent=2).decode()
    return render_page(
        "study.html",
        {"shown": shown},
        study=study,
        columns=list(study.table[0]) if study.table else [],
        numeric=lambda name: all(row[name] is None or is_number(row[name]) for row in study.table),
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
