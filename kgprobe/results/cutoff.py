"""Knowledge cut-off of a model: the time after which it answers fewer questions about facts right.

docs/methods/cut-off.md. Facts are dated by their beginning, or by a date of their subject. The change point is
estimated by :mod:`kgprobe.stats.change_point`; tables show the answers by year, and by kind of fact: those that
replaced an earlier object (*evolved*), those of a subject that is itself as new as the fact (*new subject*), and the
others (as *evolved* and *uncharted* in EvoWiki).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.dates import last_day, year_of, year_span
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.results.about_facts import DatedFacts, read_dated_facts
from kgprobe.results.answers import Stored
from kgprobe.results.result import Result
from kgprobe.running.collected import FactAnswers, collect_answers
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.popularity import popularities_of_ends
from kgprobe.sampling.years import YearSource
from kgprobe.sanitize import counted
from kgprobe.stats.change_point import FEWEST, ChangePoint, DatedAnswers, adjusted_shares, find_change
from kgprobe.stats.proportions import Share, share
from kgprobe.tables import Heading, ResultRow, Table, row_dicts, row_table

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph

# Years before as_of of which facts count, unless the user names the first year.
YEARS = 15
# Level of the tests for any drop.
SIGNIFICANCE = 0.05
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_FACTS_AT_ONCE = 1_000

Bools = NDArray[np.bool_]


class CutoffVerdict(str, Enum):
    """Outcome of the estimate.

    ``VISIBLE``: the answers drop. ``GRADUAL``: they get worse over time, but a smooth curve is possible, too.
    ``NOT_VISIBLE``: no drop is found. ``TOO_FEW``: the facts are too few or of too few dates for an estimate.
    """

    VISIBLE = "visible"
    GRADUAL = "gradual"
    NOT_VISIBLE = "not visible"
    TOO_FEW = "too few facts"


class FactKind(str, Enum):
    """Kind of a dated fact."""

    EVOLVED = "evolved"
    NEW_SUBJECT = "new subject"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class YearRate(ResultRow):
    """Answers to the facts of a year.

    Attributes:
        right: share of facts with more right answers than wrong ones.
        adjusted: share expected if the year's facts had the relations and popularities of all facts.
    """

    year: Annotated[int, Heading("year", str)]
    facts: Annotated[int, Heading("facts")]
    right: Annotated[Share, Heading("right")]
    adjusted: Annotated[Share, Heading("adjusted")]


@dataclass(frozen=True, slots=True)
class KindRate(ResultRow):
    """Answers to the facts of a kind, before or after the cut-off.

    Attributes:
        kind: evolved, new subject or other.
        period: before or after the estimated cut-off; all without one.
        right: share of facts with more right answers than wrong ones.
        former: share of facts whose latest wrong answer is a former object; None for kinds without former objects.
    """

    kind: Annotated[str, Heading("kind")]
    period: Annotated[str, Heading("period")]
    facts: Annotated[int, Heading("facts")]
    right: Annotated[Share, Heading("right")]
    former: Annotated[Share | None, Heading("former object given")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Cutoff(Result):
    """Estimated knowledge cut-off of a model; one row for each year.

    Attributes:
        name: name of the measurement or run.
        model: spec of the model.
        since: first year of the counted facts.
        facts: number of answered and dated facts since then.
        verdict: whether a cut-off is visible.
        change: the estimated change point, also where no drop is visible; None with too few facts.
        years: answers by year, in order.
        kinds: answers by kind and period.
        source: the source of the dates.
        config: settings of the result.
    """

    name: str
    model: str
    since: int
    facts: int
    verdict: CutoffVerdict
    change: ChangePoint | None
    years: Sequence[YearRate]
    kinds: Sequence[KindRate]
    source: YearSource
    config: Mapping[str, Any] = field(default_factory=dict)

    row = YearRate

    def records(self) -> Sequence[YearRate]:
        """Return the rates by year."""
        return self.years

    def tables(self) -> list[Table]:
        """Return the rates by year, and by kind of fact."""
        notes = [
            self.source.note,
            "Shares of facts with 95% intervals. Adjusted: if each year had the relations and popularities of all.",
        ]
        kinds = [
            "Evolved: the fact replaced an earlier object. New subject: its own date is at most a year older.",
        ]
        return [
            row_table("by_year", "By year", self.years, notes),
            row_table("by_kind", "By kind of fact", self.kinds, kinds),
        ]

    def summary(self) -> str:
        """Return the verdict, with date and interval if the cut-off is visible."""
        change = self.change
        if change is None:
            return (
                f"No estimate: {counted(self.facts, 'dated fact')} since {self.since}; at least {FEWEST} before and"
                f" {FEWEST} after a possible cut-off are needed."
            )
        facts = f"{counted(self.facts, 'fact')} since {self.since}"
        if self.verdict is CutoffVerdict.NOT_VISIBLE:
            return f"No cut-off visible: test for any drop p = {change.p_value:.3f}, {facts}."
        about = f"{month_of(change.time)} (95% interval: {_interval(change)})"
        if self.verdict is CutoffVerdict.GRADUAL:
            return (
                f"No clear cut-off: answers get worse over time, but a drop is not distinguishable from a smooth curve"
                f" (p = {change.p_value_beyond_curve:.3f}, {facts}). If it is a drop, the cut-off is about {about}."
            )
        return f"{self.model} knows facts until about {about}; test for any drop p = {change.p_value:.3f}, {facts}."

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, change point, years and kinds, with stable keys; times are in years, None for no end."""
        change = self.change
        numbers = {} if change is None else {name: _finite(getattr(change, name)) for name in _CHANGE}
        return {
            "summary": self.summary(),
            "name": self.name,
            "model": self.model,
            "verdict": self.verdict.value,
            "since": self.since,
            "facts": self.facts,
            "cutoff": numbers or None,
            "year": asdict(self.source),
            "years": row_dicts(self.years),
            "kinds": row_dicts(self.kinds),
            "notes": list(self.notes),
            "config": dict(self.config),
        }


def _interval(change: ChangePoint) -> str:
    if math.isinf(change.low) and math.isinf(change.high):
        return "unbounded"
    if math.isinf(change.low):
        return f"until {month_of(change.high)}"
    if math.isinf(change.high):
        return f"from {month_of(change.low)} on"
    return f"{month_of(change.low)} to {month_of(change.high)}"


# Fields of a change point in JSON.
_CHANGE = ("time", "low", "high", "width", "drop", "p_value", "p_value_beyond_curve", "overdispersion")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def month_of(time: float) -> str:
    """Return the month of a time in years.

    >>> month_of(2021.5), month_of(2020.999)
    ('July 2021', 'December 2020')
    """
    year, month = divmod(math.floor(time * 12 + 1e-6), 12)
    return f"{_MONTHS[month]} {year}"


@dataclass(frozen=True, slots=True)
class _DatedFact:
    """An answered fact with its date.

    Attributes:
        middle, width: its date, in years.
        begins: the last day that the date covers, ``yyyymmdd``.
        subject_year: the earliest date of the subject, a year; None if unknown.
    """

    key: FactKey
    relation: str
    middle: float
    width: float
    begins: int
    subject_year: int | None
    answers: FactAnswers

    @property
    def right(self) -> bool:
        """More right answers than wrong ones."""
        return self.answers.right > self.answers.wrong

    @property
    def gave_former(self) -> bool:
        """The latest wrong answer is a former object."""
        return not self.right and False in self.answers.asks and self.answers.asks[False].former is not None


def find_cutoff(result: Stored, since: int | None, year_relation: str | None, seed: int) -> Cutoff:
    """Estimate the cut-off from a stored result; see :func:`kgprobe.find_cutoff`."""
    graph = result.graph
    if graph is None:
        raise KgprobeError(
            f"{result.about.name!r} was opened without a graph, which has the dates of its facts: open_result(name,"
            " `graph`). Facts of a data set have no dates."
        )
    about = result.about
    if result.reversed:
        raise ArgumentError("result", f"asks from object to subject ({about.name}); expected a result without inverse.")
    collected = collect_answers(result.kind, result.outcomes, about.described)
    answered = {fact: own for fact, own in collected.facts.items() if own.right + own.wrong}
    if not answered:
        raise KgprobeError(f"{about.name!r} has no answers yet.")
    last = about.as_of // 10_000
    first = last - YEARS if since is None else since
    if first > last:
        raise ArgumentError("since", f"is {first}, after the date of the result ({about.as_of}).")
    subjects = {fact: own.key.subject for fact, own in answered.items()}
    dated = read_dated_facts(graph, subjects, year_relation, all_dates=True)
    facts, unread = _dated_facts(dated, answered)
    facts = [fact for fact in facts if fact.middle >= first]
    notes = list(_notes(about.caveat, dated.source, unread, about.as_of))
    change = None
    years: list[YearRate] = []
    if facts:
        ends = popularities_of_ends(graph, [fact.key for fact in facts])
        answers = _as_arrays(facts, ends)
        precise = float(np.median(answers.widths)) < 0.5
        change = find_change(answers, grid=1 / 12 if precise else 1 / 4, seed=seed)
        years = _year_rates(facts, answers)
    verdict = _verdict(change)
    if change is not None and verdict is CutoffVerdict.VISIBLE and math.isinf(change.high):
        notes.append("The interval has no upper end: the result has too few facts that begin later.")
    shown = change if verdict is CutoffVerdict.VISIBLE else None
    return Cutoff(
        name=about.name,
        model=about.called,
        since=first,
        facts=len(facts),
        verdict=verdict,
        change=change,
        years=years,
        kinds=_kind_rates(facts, _evolved(graph, facts, about.as_of), shown),
        source=dated.source,
        config={"result": str(result.folder), "since": first, "year_relation": dated.source.relation, "seed": seed},
        notes=tuple(notes),
    )


def _verdict(change: ChangePoint | None) -> CutoffVerdict:
    if change is None:
        return CutoffVerdict.TOO_FEW
    if change.p_value > SIGNIFICANCE:
        return CutoffVerdict.NOT_VISIBLE
    return CutoffVerdict.GRADUAL if change.p_value_beyond_curve > SIGNIFICANCE else CutoffVerdict.VISIBLE


def _notes(caveat: str | None, source: YearSource, unread: int, as_of: int) -> list[str]:
    notes = []
    if caveat is not None:
        notes.append(caveat)
    if source.dated < source.facts:
        notes.append(
            f"{source.facts - source.dated:,} of {source.facts:,} answered facts have no date and are left out."
        )
    if unread:
        notes.append(f"{unread:,} dates cannot be read and are left out.")
    day = f"{as_of:08d}"
    notes.append(
        f"Facts were asked as of {day[:4]}-{day[4:6]}-{day[6:]}: facts that begin later, or ended before, could not be"
        " asked. A later `as_of` includes later facts."
    )
    return notes


def _dated_facts(dated: DatedFacts, answered: Mapping[str, FactAnswers]) -> tuple[list[_DatedFact], int]:
    """Return the facts with a date, and the number of unreadable dates."""
    facts, unread = [], 0
    for row, date in zip(dated.rows, dated.dates, strict=True):
        if date is None or year_of(date) is None:
            continue
        try:
            middle, width = year_span(date)
            begins = last_day(date.partition("T")[0])
        except ValueError:
            unread += 1
            continue
        own = [year_of(each["date"]) for each in row["dates"]]
        subject_year = min((year for year in own if year is not None), default=None)
        answers = answered[row["fact"]]
        facts.append(_DatedFact(answers.key, row["relation"], middle, width, begins, subject_year, answers))
    return facts, unread


def _as_arrays(facts: Sequence[_DatedFact], popularities: NDArray[np.float64]) -> DatedAnswers:
    _, relations = np.unique([fact.relation for fact in facts], return_inverse=True)
    _, subjects = np.unique([fact.key.subject for fact in facts], return_inverse=True)
    right = [fact.answers.right / (fact.answers.right + fact.answers.wrong) for fact in facts]
    return DatedAnswers(
        times=np.array([fact.middle for fact in facts]),
        widths=np.array([fact.width for fact in facts]),
        right=np.array(right),
        predictors=popularities,
        groups=relations.astype(np.int64),
        clusters=subjects.astype(np.int64),
    )


def _year_rates(facts: Sequence[_DatedFact], answers: DatedAnswers) -> list[YearRate]:
    known: dict[int, list[bool]] = {}
    for fact in facts:
        known.setdefault(math.floor(fact.middle), []).append(fact.right)
    rates = []
    for adjusted in adjusted_shares(answers):
        own = known[adjusted.year]
        in_year = Share(adjusted.value, adjusted.low, adjusted.high)
        rates.append(YearRate(adjusted.year, len(own), share(sum(own), len(own)), in_year))
    return rates


def _evolved(graph: "Graph", facts: Sequence[_DatedFact], as_of: int) -> set[str]:
    """Return the facts with a former object that ended by the fact's beginning."""
    begins = {fact.key.fact: fact.begins for fact in facts}
    evolved = set()
    for first in range(0, len(facts), _FACTS_AT_ONCE):
        block = facts[first : first + _FACTS_AT_ONCE]
        rows = [{"subject": fact.key.subject, "fact": fact.key.fact} for fact in block]
        for row in graph.read("sample/former_names", rows=rows, as_of=as_of):
            if row["until"] <= begins[row["fact"]]:
                evolved.add(row["fact"])
    return evolved


def _kind_rates(facts: Sequence[_DatedFact], evolved: set[str], change: ChangePoint | None) -> list[KindRate]:
    groups: dict[tuple[FactKind, str], list[_DatedFact]] = {}
    for fact in facts:
        kind = _kind_of(fact, evolved)
        period = "all" if change is None else "before" if fact.middle <= change.time else "after"
        groups.setdefault((kind, period), []).append(fact)
    rates = []
    for kind in FactKind:
        for period in ("before", "after", "all"):
            own = groups.get((kind, period))
            if not own:
                continue
            right = share(sum(fact.right for fact in own), len(own))
            former = share(sum(fact.gave_former for fact in own), len(own)) if kind is FactKind.EVOLVED else None
            rates.append(KindRate(kind.value, period, len(own), right, former))
    return rates


def _kind_of(fact: _DatedFact, evolved: set[str]) -> FactKind:
    if fact.key.fact in evolved:
        return FactKind.EVOLVED
    is_new = fact.subject_year is not None and fact.subject_year >= math.floor(fact.middle) - 1
    return FactKind.NEW_SUBJECT if is_new else FactKind.OTHER
