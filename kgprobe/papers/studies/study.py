"""A study: a verdict, rows of data, plots and notes, with its page and files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from kgprobe.base.files import home
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import INTERNAL, Table, json_value
from kgprobe.results.rendering.plots import CategoryPlot, Plot
from kgprobe.results.result import Listing, StoredResult
from kgprobe.running.settings import digest_of

if TYPE_CHECKING:
    import pandas as pd

from kgprobe.graph.client import Graph
from kgprobe.models.model import Models
from kgprobe.papers.studies.options import Measuring
from kgprobe.results.measurement import Measurement
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.selection import checked_draw, choose_facts, list_existing

DATA, WHOLE = "data.csv", "study.json"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Study(StoredResult):
    """The result of one study.

    Attributes:
        name: as on the command line.
        title: subject of the study, model and numbers.
        verdict: the main result in a sentence or two.
        table: the rows shown first.
        data: every number behind table and plots, in rows of the same columns.
        plots: in the order of the page.
        further: other tables, each also a CSV file with the name of its key.
        missing: messages about listed facts that are not in the graph, and about facts that the draw left out.
    """

    name: str
    title: str = ""
    verdict: str
    table: Annotated[Sequence[Mapping[str, Any]], Listing("", detail=True)]
    data: Annotated[Sequence[Mapping[str, Any]], Listing(main=True)]
    plots: Annotated[Sequence[Plot | CategoryPlot], INTERNAL] = ()
    further: Annotated[Sequence[Table], INTERNAL] = ()
    missing: Sequence[str] = ()

    file: ClassVar[str] = "study"

    @property
    def folder(self) -> Path:
        """Folder of the files: the data as CSV, everything as JSON. Studies of the same configuration share it."""
        return home() / "studies" / f"{self.name}-{digest_of(self.config)}"

    @property
    def data_file(self) -> Path:
        """CSV file with all numbers of table and plots."""
        return self.folder / DATA

    def summary(self) -> str:
        """Return the verdict."""
        return self.verdict

    def tables(self) -> list[Table]:
        """Return the main table and the further ones."""
        return [*StoredResult.tables(self), *(replace(table, detail=True) for table in self.further)]

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Return the data and all tables in pandas, by the name of their CSV file without ending."""
        return {**StoredResult.frames(self), **{table.key: table.to_frame() for table in self.further}}

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, tables, data, notes and settings, for programs."""
        tables = {table.key: json_value(table.to_dict()["rows"]) for table in self.further}
        return {**StoredResult.to_dict(self), "tables": tables}

    def save(self, missing: Sequence[str] = ()) -> "Study":
        """Write the files, replacing those of the same configuration; return the study with messages on these facts."""
        self.write_files(self.folder)
        return replace(self, missing=missing)


def counted_notes(title: str, messages: Iterable[str]) -> list[str]:
    """Return one note per different message with its count, the most frequent first."""
    return [f"{title}: {count:,}: {message}." for message, count in Counter(messages).most_common()]


def signed(mean: Mean) -> str:
    """Return a difference with its sign, and with its interval if it has one."""
    return f"{mean.value:+.3f}" + ("" if mean.low is None else f" [{mean.low:+.3f}, {mean.high:+.3f}]")


def json_number(value: float) -> float | None:
    """Return a number, or None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)


def folders_of(measurements: Mapping[str, Measurement], seed: int) -> dict[str, Any]:
    """Return the folders of measurements by title, and the seed, as settings of a study."""
    return {"measurements": {name: str(measurement.folder) for name, measurement in measurements.items()}, "seed": seed}


def same_facts(
    graph: Graph, relations: Sequence[str], drawing: Measuring, seed: int, models: Models
) -> tuple[dict[str, Any], Sequence[str]]:
    """Choose facts of these relations; return the arguments of several measurements of them, and messages.

    The messages are about listed facts that are missing, and on the drawing.
    """
    names = ("balance", "with_former", "facts", "limit", "as_of")
    given: dict[str, Any] = {name: drawing[name] for name in names if name in drawing}  # type: ignore[literal-required]
    draw = checked_draw(Draw(**given, seed=seed), "a study")
    listed = None if draw.facts is None else list_existing(graph, draw.facts, draw.as_of)
    chosen = choose_facts(
        graph, relations, as_of=draw.as_of, listed=listed, limit=draw.limit, seed=draw.seed, draw=draw
    )
    keys = [chosen.keys[place] for place in range(len(chosen.keys))]
    common = {"facts": keys, "relations": relations, "seed": draw.seed, "as_of": draw.as_of, "models": models}
    return common, [*chosen.missing, *chosen.notes]
