"""A study on disk and on the terminal: data as CSV, the whole as JSON, the plot as a page of its own."""

import csv
import os
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.errors import KgprobeError
from kgprobe.paths import make_folder
from kgprobe.report.rows import cell, visible
from kgprobe.studies.study import Line, Plot, Study

DATA = "data.csv"
WHOLE = "study.json"
PLOT = "plot.html"

_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e")


def write_study(study: Study, folder: Path) -> None:
    """Write a study's files into a folder, which is made; what stands there is replaced.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    whole = {"name": study.name, "title": study.title, "notes": study.notes, "config": study.config}
    try:
        _replace(folder / WHOLE, msgspec.json.encode({**whole, "table": study.table, "data": study.data}).decode())
        _replace(folder / PLOT, plot_page(study))
        with open(folder / DATA, "w", newline="", encoding="utf-8") as file:
            columns = list(dict.fromkeys(column for row in study.data for column in row))
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(study.data)
    except OSError as error:
        raise KgprobeError(f"The study's files in {folder} cannot be written: {error.strerror}.") from error


def study_table(study: Study) -> RenderableType:
    """The table of a study and its notes."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = list(dict.fromkeys(column for row in study.table for column in row))
    for column in columns:
        numeric = all(isinstance(row.get(column), (int, float, type(None))) for row in study.table)
        table.add_column(Text(visible(column)), justify="right" if numeric else "left", overflow="fold")
    for row in study.table:
        table.add_row(*(Text(_shown(row.get(column))) for column in columns))
    return Group(Text(visible(study.title), style="bold"), table, *(Text(visible(note)) for note in study.notes))


def plot_page(study: Study) -> str:
    """The plot as a page that loads nothing from elsewhere."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, line in enumerate(study.plot.lines):
        for trace in _traces(line, _COLOURS[number % len(_COLOURS)]):
            figure.add_trace(trace)
    figure.update_layout(**_layout(study.title, study.plot))
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, div_id="plot")
    return page


def _layout(title: str, plot: Plot) -> dict[str, Any]:
    return {
        "title": {"text": _escaped(title)},
        "template": "plotly_white",
        "xaxis": {"title": {"text": _escaped(plot.x_title)}, "type": "log" if plot.log_x else "linear"},
        "yaxis": {"title": {"text": _escaped(plot.y_title)}, "range": plot.y_range},
        "legend": {"orientation": "h", "y": -0.2},
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


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else cell(value)


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_suffix(".part")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)
