"""Results of knowledge labels: the classes of a label table, with intervals, also by relation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.base.files import replacing
from kgprobe.base.intervals import Percent, Share
from kgprobe.base.sanitize import counted, spreadsheet_cell
from kgprobe.base.tables import INTERNAL, Heading, Names, ResultRow
from kgprobe.labelling.prediction import Calibration
from kgprobe.labelling.statistics import LabelStatistics, WayRate, read_statistics
from kgprobe.labelling.table import ASKED, FACTS, SCHEMES, LabelTable, read_label_table
from kgprobe.models.spec_forms import model_name
from kgprobe.results.result import Listing, Result
from kgprobe.stats.proportions import share

PAGE = "labels.html"

# Tables on the page that are not folded.
_OPEN_TABLES = 3
# Relations in a table that people read.
_SHOWN_RELATIONS = 20
_ON_PREDICTED = (
    "Predicted facts: the intervals hold on average over facts, and cover fewer of the facts that the model does not"
    " know. Ask facts before you choose them as unknown."
)
# Names of the schemes for people, in the order of their tables.
SCHEME_NAMES = {"profile": "profile", "slick": "SliCK", "belief": "belief"}


@dataclass(frozen=True, slots=True)
class ClassShare(ResultRow):
    """A class with its facts.

    Attributes:
        scheme: ``profile``, ``slick`` or ``belief``.
        share: share of them among the asked facts that have a class.
        guessed: expected share for a guesser; None if unknown.
    """

    scheme: str
    label: Annotated[str, Heading("class")]
    facts: Annotated[int, Heading("asked facts")]
    share: Annotated[Share | None, Heading("share")]
    guessed: Annotated[float | None, Heading("by guessing", Percent)]
    predicted: Annotated[int, Heading("predicted facts")]


@dataclass(frozen=True, slots=True)
class RelationClasses(ResultRow):
    """The asked facts of a relation.

    Attributes:
        known: their mean probability.
        predicted, predicted_known: number and mean probability of its other facts; None without any.
    """

    relation: str
    name: str
    facts: int
    known: float | None
    classes: Mapping[str, int]
    predicted: int
    predicted_known: float | None

    def cells(self, names: Names | None = None) -> dict[str, Any]:
        """Return the cells of a table: the shares of the classes of the result's first scheme."""
        known = None if self.known is None else Percent(self.known)
        cells: dict[str, Any] = {"relation": self.name, "asked facts": self.facts, "known": known}
        labels = SCHEMES["belief" if names is None else names["first_scheme"]]
        total = sum(self.classes.get(label, 0) for label in labels)
        for label in labels:
            cells[label] = Percent(self.classes.get(label, 0) / total) if total else None
        return cells


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Labels(Result):
    """A label table with its classes; one row for each class.

    Attributes:
        table: the table, whose ``rows`` and ``to_frame`` have the facts.
        known, predicted_known: their mean probability; None without any.
        classes: by scheme, in their order; schemes without a fact are left out.
        relations: by decreasing number of asked facts.
    """

    table: Annotated[LabelTable, INTERNAL]
    asked_facts: int
    predicted_facts: int
    known: float | None
    predicted_known: float | None
    classes: Annotated[
        Sequence[ClassShare],
        Listing("", by=lambda _, row: f"Classes: {SCHEME_NAMES[row.scheme]}", main=True),
    ]
    relations: Annotated[
        Sequence[RelationClasses],
        Listing(
            lambda labels: f"By relation: {SCHEME_NAMES[labels.first_scheme]}",
            "Known: mean probability of the asked facts.",
            show=_SHOWN_RELATIONS,
        ),
    ]
    statistics: Annotated[LabelStatistics, INTERNAL]

    properties: ClassVar[Sequence[str]] = ("name", "folder", "config", "ways", "calibration")

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.table.name

    @property
    def folder(self) -> Path:
        """Folder of the table."""
        return self.table.folder

    @property
    def config(self) -> Mapping[str, Any]:
        """Settings of the table."""
        return self.table.config

    @property
    def first_scheme(self) -> str:
        """The first scheme with a fact."""
        return next((row.scheme for row in self.classes), "belief")

    @property
    def ways(self) -> Annotated[Sequence[WayRate], Listing("Right answers by way of asking")]:
        """Accuracy in each way."""
        return self.statistics.ways

    @property
    def calibration(self) -> Calibration | None:
        """Calibration of the probabilities; None for too few facts."""
        return self.statistics.calibration

    @property
    def held_out(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Calibration on held-out answers", last=True)]:
        """Predicted and observed shares of right answers, by range of probability."""
        rows = []
        for group in () if self.calibration is None else self.calibration.groups:
            predicted, observed = Percent(group.predicted), Percent(group.observed)
            rows.append({"held-out facts": group.facts, "predicted": predicted, "right": observed})
        return rows

    def summary(self) -> str:
        """Return the shares of the classes, and the calibration, in some sentences."""
        lines = [f"{model_name(self.table.model)}: {counted(self.asked_facts, 'asked fact')}{self._predicted()}."]
        for scheme, title in SCHEME_NAMES.items():
            shares = [f"{row.label} {row.share}" for row in self.classes if row.scheme == scheme and row.share]
            if shares:
                lines.append(f"{title}: {', '.join(shares)}")
        calibration = self.calibration
        if calibration is not None:
            lines.append(
                f"Held-out answers: predicted {calibration.predicted:.1%}, right {calibration.observed:.1%};"
                f" calibration error {calibration.error:.1%} (calibrated: up to {calibration.error_by_luck:.1%})."
            )
        return "\n".join([*lines, f"Labels: {self.folder}"])

    def page(self) -> Path:
        """Write a page next to the table, and return its path."""
        from kgprobe.results.rendering.page import settings_section, table_section, write_page

        sections = []
        for place, table in enumerate(self.tables()):
            sections.append(replace(table_section(table), folded=place >= _OPEN_TABLES))
        title = (
            f"Labels of {counted(self.asked_facts + self.predicted_facts, 'fact')} by {model_name(self.table.model)}"
        )
        lead = [*self.summary().splitlines()[:-1], *self.notes]
        return write_page(self.folder / PAGE, title, lead, [*sections, settings_section(self.config)])

    def _predicted(self) -> str:
        if not self.predicted_facts:
            return ""
        return f", {self.predicted_facts:,} predicted ones (mean probability {self.predicted_known:.0%})"

    def write_csv(self, path: Path) -> None:
        """Write the rows of all facts as CSV. Cost: a pass over the table. Memory: one part of it."""
        with replacing(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="") as file:
            header = True
            with pq.ParquetFile(self.folder / FACTS) as facts:
                for batch in facts.iter_batches():
                    # Counts can be missing, and stay whole numbers.
                    frame = batch.to_pandas(types_mapper={pa.int16(): pd.Int16Dtype()}.get)
                    texts = [column.name for column in batch.schema if column.type == pa.string()]
                    frame[texts] = frame[texts].map(spreadsheet_cell)
                    frame.to_csv(file, index=False, header=header)
                    header = False


def read_labels(folder: Path) -> Labels:
    """Return the label table in a folder with its classes."""
    return read_labels_of(read_label_table(folder))


def read_labels_of(table: LabelTable, notes: Sequence[str] = ()) -> Labels:
    """Return a label table with its classes.

    Cost: a pass over the columns of classes. Memory: the relations.
    """
    counts, sums = _count(table)
    statistics = read_statistics(table.folder)
    totals: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for key, count in counts.items():
        for scheme, name in key.labels:
            if name is not None:
                totals[key.is_by_answers(scheme)][f"{scheme} {name}"] += count
    classes: list[ClassShare] = []
    for scheme in SCHEME_NAMES:
        classes += _classes(scheme, totals, statistics.guessed.get(scheme, {}))
    sizes = [sum(count for key, count in counts.items() if key.is_asked is side) for side in (True, False)]
    known, predicted_known = (_mean(counts, sums, side) for side in (True, False))
    if sizes[1]:
        notes = [*notes, _ON_PREDICTED]
    return Labels(
        table=table,
        asked_facts=sizes[0],
        predicted_facts=sizes[1],
        known=known,
        predicted_known=predicted_known,
        classes=classes,
        relations=_by_relation(counts, sums),
        statistics=statistics,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class _Key:
    """Facts that agree in these columns."""

    relation: str
    name: str
    basis: str
    profile: str | None
    slick: str | None
    belief: str

    @property
    def is_asked(self) -> bool:
        return self.basis == ASKED

    def is_by_answers(self, scheme: str) -> bool:
        """Return True for a class by answers: classes other than beliefs are never predicted."""
        return self.is_asked or scheme != "belief"

    @property
    def labels(self) -> tuple[tuple[str, str | None], ...]:
        return ("profile", self.profile), ("slick", self.slick), ("belief", self.belief)


_KEYS = ("relation", "relation_name", "basis", "profile", "slick", "belief")


def _count(table: LabelTable) -> tuple[Counter[_Key], Counter[_Key]]:
    """Return the number of facts, and the sum of their probabilities, by relation, basis and classes."""
    counts: Counter[_Key] = Counter()
    sums: Counter[_Key] = Counter()
    with pq.ParquetFile(table.folder / FACTS) as file:
        for batch in file.iter_batches(columns=[*_KEYS, "known"]):
            grouped = pa.table(batch).group_by(list(_KEYS)).aggregate([("known", "count"), ("known", "sum")])
            for row in grouped.to_pylist():
                key = _Key(*(row[name] for name in _KEYS))
                counts[key] += row["known_count"]
                sums[key] += row["known_sum"]
    return counts, sums


def _classes(scheme: str, totals: Mapping[bool, Counter[str]], guessed: Mapping[str, float]) -> list[ClassShare]:
    own_counts, predicted = ([totals[side][f"{scheme} {name}"] for name in SCHEMES[scheme]] for side in (True, False))
    if not sum(own_counts) and not sum(predicted):
        return []
    rows = []
    for name, own, other in zip(SCHEMES[scheme], own_counts, predicted, strict=True):
        own_share = share(own, sum(own_counts)) if sum(own_counts) else None
        rows.append(ClassShare(scheme, name, own, own_share, guessed.get(name), other))
    return rows


def _mean(counts: Mapping[_Key, int], sums: Mapping[_Key, float], is_asked: bool) -> float | None:
    keys = [key for key in counts if key.is_asked is is_asked]
    return sum(sums[key] for key in keys) / sum(counts[key] for key in keys) if keys else None


def _by_relation(counts: Counter[_Key], sums: Counter[_Key]) -> list[RelationClasses]:
    members: dict[tuple[str, str], list[_Key]] = {}
    for key in counts:
        members.setdefault((key.relation, key.name), []).append(key)
    rows = []
    for (relation, name), keys in members.items():
        own = {key: counts[key] for key in keys}
        classes: Counter[str] = Counter()
        facts = 0
        for key in keys:
            facts += own[key] if key.is_asked else 0
            for scheme, label in key.labels:
                if label is not None and key.is_by_answers(scheme):
                    classes[label] += own[key]
        known, predicted_known = (_mean(own, sums, side) for side in (True, False))
        predicted = sum(own.values()) - facts
        rows.append(RelationClasses(relation, name, facts, known, classes, predicted, predicted_known))
    return sorted(rows, key=lambda row: (-row.facts, -row.predicted, row.relation))
