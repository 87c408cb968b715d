"""Comparison of two label tables: how the classes of equal facts changed.

docs/methods/labels.md.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar

import pandas as pd
import pyarrow.parquet as pq

from kgprobe.answers.settings import note_of_dates
from kgprobe.base.arguments import check_choice
from kgprobe.base.errors import ArgumentError
from kgprobe.base.intervals import Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.graph.state import state_difference
from kgprobe.labelling.labels import SCHEME_NAMES
from kgprobe.labelling.table import ASKED, FACTS, SCHEMES, LabelTable
from kgprobe.results.answers import ON_SHARED, change_note
from kgprobe.results.result import SHOWN_FACTS, Listing, StoredResult
from kgprobe.stats.proportions import share


@dataclass(frozen=True, slots=True)
class Transition(ResultRow):
    """Facts of one class in the first table and one in the second, with their share of the first class."""

    before: Annotated[str, Heading("{one}")]
    after: Annotated[str, Heading("{other}")]
    facts: Annotated[int, Heading("facts")]
    share: Annotated[Share, Heading("of the first class")]


@dataclass(frozen=True, slots=True)
class MovedFact(ResultRow):
    """A fact whose class differs."""

    fact: str
    subject: str
    subject_name: Annotated[str, Heading("subject")]
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    object: str
    object_name: Annotated[str, Heading("object")]
    before: Annotated[str, Heading("{one}")]
    after: Annotated[str, Heading("{other}")]
    known_before: float
    known_after: float


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class LabelComparison(StoredResult):
    """Two label tables over the asked facts that have a class in both; one row for each pair of classes.

    Attributes:
        transitions: pairs of classes with a fact, in the order of the classes.
        moved: facts whose class differs, in the order of the first table.
    """

    one: str
    other: str
    scheme: str
    facts: int
    transitions: Annotated[
        Sequence[Transition],
        Listing("Transitions", detail=True, main=True),
    ]
    moved: Annotated[Sequence[MovedFact], Listing("Facts that moved", show=SHOWN_FACTS)]

    file: ClassVar[str] = "label_comparison"

    @property
    def matrix(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("From {one} (rows) to {other} (columns)")]:
        """Numbers of facts by the class in the first table, and by that in the second."""
        counts = {(row.before, row.after): row.facts for row in self.transitions}
        rows = []
        for before in SCHEMES[self.scheme]:
            cells = {after: counts.get((before, after), 0) for after in SCHEMES[self.scheme]}
            rows.append({self.one: before, **cells})
        return rows

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{len(self.moved):,} of {counted(self.facts, 'fact')} moved from {self.one} to {self.other}"

    def summary(self) -> str:
        """Return the share of moved facts in a sentence."""
        moved = share(len(self.moved), self.facts)
        return f"{SCHEME_NAMES[self.scheme]}: {len(self.moved):,} of {self.facts:,} facts moved, {moved}."


def compare_tables(one: LabelTable, other: LabelTable, scheme: str, *, shared: bool = False) -> LabelComparison:
    """Compare two label tables.

    Cost: one pass over each. Memory: the asked facts of both.

    ArgumentError: no such scheme, or the states of the graph differ. KgprobeError: no asked fact has a class in both.
    """
    check_choice("scheme", scheme, SCHEMES)
    states = {state: None for table in (one, other) if (state := table.config.get("graph"))}
    change = state_difference(*states) if len(states) > 1 else ""
    if change and not shared:
        raise ArgumentError("results", f"cannot be compared: {change}. {ON_SHARED}")
    before, after = (_asked(table, scheme) for table in (one, other))
    same = ["fact", "subject", "relation", "object"]
    paired = before.merge(after[[*same, scheme, "known"]], on=same, suffixes=("", "_after"))
    if paired.empty:
        raise ArgumentError(
            "results",
            f"have no asked fact with a class of {SCHEME_NAMES[scheme]} in both: {len(before):,} facts in {one.name},"
            f" {len(after):,} in {other.name}. Label the same facts in the same ways, or choose another `scheme`.",
        )
    counts = Counter(zip(paired[scheme], paired[f"{scheme}_after"], strict=True))
    totals = Counter(paired[scheme])
    transitions = []
    for first, second in product(SCHEMES[scheme], repeat=2):
        if count := counts[first, second]:
            transitions.append(Transition(first, second, count, share(count, totals[first])))
    changed = paired[paired[scheme] != paired[f"{scheme}_after"]]
    renamed = {scheme: "before", f"{scheme}_after": "after", "known": "known_before", "known_after": "known_after"}
    moved = [MovedFact(**row) for row in changed.rename(columns=renamed)[MovedFact.columns()].to_dict("records")]
    names = (one.name, other.name) if one.name != other.name else (str(one.folder), str(other.folder))
    return LabelComparison(
        one=names[0],
        other=names[1],
        scheme=scheme,
        facts=len(paired),
        transitions=transitions,
        moved=moved,
        config={"tables": [str(one.folder), str(other.folder)], "scheme": scheme},
        notes=[*filter(None, [change_note(change)]), *_differences(one, other, names)],
    )


def _asked(table: LabelTable, scheme: str) -> pd.DataFrame:
    """Return the asked facts with a class, with their names, class and probability."""
    ids = ["fact", "subject", "subject_name", "relation", "relation_name", "object", "object_name"]
    # Only beliefs are also predicted.
    filters = [("basis", "=", ASKED)] if scheme == "belief" else None
    facts: pd.DataFrame = pq.read_table(
        table.folder / FACTS, columns=[*ids, scheme, "known"], filters=filters
    ).to_pandas()
    labelled: pd.DataFrame = facts.dropna(subset=[scheme])
    return labelled


def _differences(one: LabelTable, other: LabelTable, names: tuple[str, str]) -> list[str]:
    """Return notes on different settings other than the model."""
    dated = note_of_dates([one.config, other.config])
    notes = [dated] * bool(dated)
    for setting in ("ways", "by", "repeats", "seed", *(["as_of"] * (not dated))):
        first, second = one.config.get(setting), other.config.get(setting)
        if first != second:
            own = f"{_in_words(first)} in {names[0]}, {_in_words(second)} in {names[1]}"
            notes.append(f"They differ: {setting} is {own}.")
    return notes


def _in_words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
