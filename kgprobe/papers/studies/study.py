"""Base of the studies: a verdict, rows with their tables, plots and notes, with page and files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar

import numpy as np

from kgprobe.answers.settings import digest_of
from kgprobe.base.errors import KgprobeError, expected_one_of
from kgprobe.base.files import home
from kgprobe.base.intervals import Mean, Share
from kgprobe.graph.client import Graph
from kgprobe.models.model import Models
from kgprobe.papers.studies.options import Measuring
from kgprobe.results.measurement import Measurement
from kgprobe.results.rendering.plots import Category, Line
from kgprobe.results.result import StoredResult
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.selection import checked_draw, choose_facts, list_existing

DATA, WHOLE = "data.csv", "study.json"

Own = TypeVar("Own", bound="Study")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Study(StoredResult):
    """Result of a study. A subclass has its name, and as fields its rows with their tables; ``plots`` draw them.

    The field ``data`` has every number behind the others.

    Attributes:
        name: as on the command line.
        title: subject of the study, model and numbers.
        verdict: the main result in a sentence or two.
        missing: messages about listed facts that are not in the graph, and about facts that the draw left out.
    """

    title: str
    verdict: str
    missing: Sequence[str] = ()

    name: ClassVar[str]
    file: ClassVar[str] = "study"
    properties: ClassVar[Sequence[str]] = ("name",)

    @property
    def folder(self) -> Path:
        """Folder of the files: rows as CSV, everything as JSON. Studies of the same configuration share it."""
        return self.read_from or home() / "studies" / f"{self.name}-{digest_of(self.config)}"

    @property
    def data_file(self) -> Path:
        """CSV file with all numbers of tables and plots."""
        return self.folder / DATA

    def summary(self) -> str:
        """Return the verdict."""
        return self.verdict

    def save(self: Own, missing: Sequence[str] = ()) -> Own:
        """Write the files, replacing those of the same configuration; return the study with messages on these facts."""
        study = replace(self, missing=missing)
        study.write_files(study.folder)
        return study


def study_class(name: str) -> type[Study]:
    """Return the class of a study by its name.

    Raises:
        KgprobeError: there is none; that of an extension has to be imported before.
    """
    for module in iter_modules([str(Path(__file__).parent)], "kgprobe.papers.studies."):
        import_module(module.name)
    # A class with slots is a copy of another one, which comes first.
    classes = {kind.name: kind for kind in Study.__subclasses__()}
    if name not in classes:
        raise KgprobeError(f"There is no study {name!r}; {expected_one_of(name, classes)}.")
    return classes[name]


def counted_notes(title: str, messages: Iterable[str]) -> list[str]:
    """Return one note per different message with its count, the most frequent first."""
    return [f"{title}: {count:,}: {message}." for message, count in Counter(messages).most_common()]


def mean_line(name: str, x: Sequence[float], means: Sequence[Mean], **style: Any) -> Line:
    """Return means as a curve with the band of their intervals; without one if a mean has no interval.

    Args:
        style: other attributes of the line.
    """
    low = [mean.low for mean in means if mean.low is not None]
    high = [mean.high for mean in means if mean.high is not None]
    band = (low, high) if len(low) == len(means) else ((), ())
    return Line(name, x, [mean.value for mean in means], *band, **style)


def category(name: str, value: Mean | Share | None) -> Category:
    """Return a category with the interval of its value as whiskers."""
    return Category(name, None) if value is None else Category(name, value.value, value.low, value.high)


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
